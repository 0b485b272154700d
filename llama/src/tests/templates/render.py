"""Renders chats with jinja2, in the way of Hugging Face's `apply_chat_template`.

Reads one JSON object a line: the source of a template, and values for it. Writes one line for each: a list with a text, or an error, for
each of the values.
"""

import datetime
import json
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    """The block that marks what is trained on: it writes what it holds."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def strftime_now(form):
    return datetime.datetime.now().strftime(form)


environment = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
)
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = strftime_now


def render(template, values):
    try:
        return {"text": template.render(**values)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


for line in sys.stdin:
    asked = json.loads(line)
    try:
        template = environment.from_string(asked["source"])
        answers = [render(template, values) for values in asked["values"]]
    except Exception as error:
        answers = [{"error": f"{type(error).__name__}: {error}"}] * len(asked["values"])
    print(json.dumps(answers), flush=True)
