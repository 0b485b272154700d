"""What Schemathesis must know beside the description."""

import schemathesis


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Takes the schema of each stream away: OpenAPI 3.1 describes its whole text, and Schemathesis reads it as that of
    each event."""
    for path in raw_schema["paths"].values():
        for operation in path.values():
            for answer in operation["responses"].values():
                answer.get("content", {}).get("text/event-stream", {}).pop("schema", None)


@schemathesis.hook
def before_call(context, case, **kwargs):
    """Gives a message of MCP the headers that belong to it. OpenAPI cannot say that they depend on the body."""
    if case.operation.label != "POST /mcp" or not case.meta or not case.meta.generation.mode.is_positive:
        return
    if case.body.get("method") == "initialize":
        case.headers.pop("Mcp-Session-Id", None)
        case.headers.pop("MCP-Protocol-Version", None)
    else:
        case.headers.setdefault("Mcp-Session-Id", "of-nobody")
        case.headers["MCP-Protocol-Version"] = "2025-11-25"
