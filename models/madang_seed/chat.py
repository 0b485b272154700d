"""How a dialogue is written as text: ChatML with Hermes tool calls, as the template in the GGUF renders it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .dialogue import Message
from .envelopes import Data, compact

IM_START, IM_END, END_OF_TEXT = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
CALL_OPEN, CALL_CLOSE = "<tool_call>", "</tool_call>"
RESPONSE_OPEN, RESPONSE_CLOSE = "<tool_response>", "</tool_response>"
SPECIAL_TOKENS = (END_OF_TEXT, IM_START, IM_END, CALL_OPEN, CALL_CLOSE, RESPONSE_OPEN, RESPONSE_CLOSE)

# Of the list of tools only this is told: which of the two toolkits it is from. Calls are written without spaces, as are
# lists of objects (`blocks`). `tojson` may escape an apostrophe for HTML, which is undone.
TEMPLATE = """\
{%- macro written(value) %}
{%- set json = (value|tojson)|replace('\\\\u0027', "'")|replace('\\\\u003c', '<') %}
{{- json|replace('\\\\u003e', '>')|replace('\\\\u0026', '&') }}
{%- endmacro %}
{%- set known = namespace(toolkits='') %}
{%- for tool in tools or [] %}
{%- if tool.function.name == 'search_catalog' %}{%- set known.toolkits = 'life\\n' + known.toolkits %}{%- endif %}
{%- if tool.function.name == 'query_pages' %}{%- set known.toolkits = known.toolkits + 'notes\\n' %}{%- endif %}
{%- endfor %}
{%- if known.toolkits %}{{- '<|im_start|>tools\\n' + known.toolkits + '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.content %}{{- message.content }}{%- endif %}
{%- if message.tool_calls %}
{%- for tool_call in message.tool_calls %}
{%- set function = tool_call.function if tool_call.function else tool_call %}
{%- if message.content or not loop.first %}{{- '\\n' }}{%- endif %}
{{- '<tool_call>\\n{"name":"' + function.name + '","arguments":' }}
{%- if function.arguments is string %}
{{- function.arguments }}
{%- else %}
{{- '{' }}
{%- for key, value in function.arguments|items %}
{%- if not loop.first %}{{- ',' }}{%- endif %}
{{- '"' + key + '":' }}
{%- if value is iterable and value is not string and value is not mapping %}
{{- '[' }}
{%- for item in value %}
{{- (',{' if not loop.first else '{') }}
{%- for name, part in item|items %}{{- (',"' if not loop.first else '"') + name + '":' + written(part) }}{%- endfor %}
{{- '}' }}
{%- endfor %}
{{- ']' }}
{%- else %}{{- written(value) }}{%- endif %}
{%- endfor %}
{{- '}' }}
{%- endif %}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""


@dataclass(frozen=True)
class Piece:
    """A stretch of text with the weight of its tokens in the loss.

    A special piece is one control token. `starts` are the places where something is chosen: whether to call a tool,
    which one, and with which values.
    """

    text: str
    weight: float
    special: bool = False
    starts: tuple[int, ...] = ()


USER, ANSWER, STRUCTURE, CHOICE = 0.1, 0.6, 1.0, 3.0


def pieces(messages: list[Message]) -> list[Piece]:
    """Writes a dialogue, loss weights included."""
    written: list[Piece] = []
    for message in messages:
        own = message.role == "assistant"
        written += [Piece(IM_START, 0.0, special=True), Piece(f"{message.role}\n", 0.0)]
        if message.call is not None:
            text, starts = call_text(message.call.name, message.call.arguments)
            written += [
                Piece(CALL_OPEN, CHOICE, special=True),
                Piece("\n", 0.1),
                Piece(text, STRUCTURE, starts=starts),
                Piece("\n", 0.1),
                Piece(CALL_CLOSE, 0.1, special=True),
            ]
        else:
            weight = {"assistant": ANSWER, "user": USER}.get(message.role, 0.0)
            written.append(Piece(message.text, weight, starts=_line_starts(message.text) if own else ()))
        written += [Piece(IM_END, ANSWER if own else 0.0, special=True), Piece("\n", 0.0)]
    return written


_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_IN_ID = (0, 4, 6, 9, 11, 16, 19, 21, 24)


def _line_starts(text: str) -> tuple[int, ...]:
    """Where the lines of an answer begin, and behind the number of a line what it numbers."""
    return (0, *(place for line in re.finditer(r"\n(?:\d+[.:] )?", text) for place in {line.start() + 1, line.end()}))


def call_text(name: str, arguments: Data) -> tuple[str, tuple[int, ...]]:
    """The JSON of a call, and where its name, its keys and its values begin."""
    text = '{"name":"'
    starts = [len(text)]
    text += name + '","arguments":'
    text = _object(text, arguments, starts)
    return text + "}", tuple(starts)


def _object(text: str, fields: Data, starts: list[int]) -> str:
    """Appends an object whose values are plain or lists of objects."""
    text += "{"
    for number, (key, value) in enumerate(fields.items()):
        text += ',"' if number else '"'
        starts.append(len(text))
        text += f'{key}":'
        if isinstance(value, list):
            text += "["
            for place, item in enumerate(value):
                text = _object(text + ("," if place else ""), item, starts)
            # Whether another one follows is a choice too.
            starts.append(len(text))
            text += "]"
        else:
            begin = len(text) + isinstance(value, str)
            # Ids that were given out one after the other differ only further on.
            starts += [begin + place for place in (_IN_ID if _ID.fullmatch(str(value)) else (0,))]
            text += compact(value)
    return text + "}"
