"""What Schemathesis must know of the description before it reads it."""

import schemathesis


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Takes the schema of each stream away: OpenAPI 3.1 describes its whole text, and Schemathesis reads it as that of
    each event."""
    for path in raw_schema["paths"].values():
        for operation in path.values():
            for answer in operation["responses"].values():
                answer.get("content", {}).get("text/event-stream", {}).pop("schema", None)
