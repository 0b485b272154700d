"""What every generated conversation keeps to, so that nothing is learned that cannot be done or must not be said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

from . import answers
from .dialogue import LIFE, Message
from .envelopes import MAX_BYTES, Data
from .life import answers as life_answers
from .notes import answers as notes_answers
from .placeholders import COUNT, PLACEHOLDERS, WHICH

TOOLS = Path(__file__).parents[2] / "TOOLS.md"
STATUSES = ("ok", "error", "cancelled", "discarded")
# Arguments that are copies of what was said or found. Where something is written, `grounds.rs` refuses another text.
COPIED = {"title", "content", "text", "anchor_when", "anchor_after_what", "dose_text", "note", "query", "keyword"} | {
    "id", "pageId", "parentId", "blockId", "parentBlockId", "pageTitle", "path", "pagePath", "message"
}


def broken(messages: list[Message]) -> list[str]:
    """What a conversation breaks, in words; nothing where it keeps to all of it."""
    return list(_broken(messages))


def _broken(messages: list[Message]) -> Iterator[str]:
    for place, message in enumerate(messages):
        before = messages[place - 1] if place else Message("")
        if message.role == "assistant" and message.call is not None:
            if before.role not in ("user", "tool"):
                yield f"{message.call.name} is called after {before.role}"
            yield from _call(message.call.name, message.call.arguments)
            # It knows the items of the catalogue by heart.
            if message.call.name != "query_protocol":
                yield from _copies(message.call.arguments, messages[:place])
        elif message.role == "assistant":
            yield from _answer(message.text, messages[:place])
        elif message.role == "tool":
            yield from _outcome(message.text, before)
        elif message.role == "user" and not message.text.strip():
            yield "the user says nothing"
    if messages[-1].role != "assistant":
        yield f"it ends with {messages[-1].role}"


def _answer(text: str, before: list[Message]) -> Iterator[str]:
    """After a result a placeholder; else one of the assistant's own sentences, which hold nothing that was said."""
    last = before[-1]
    if last.role == "tool":
        if text not in PLACEHOLDERS:
            yield f"after a result it says {text!r}"
        elif text in (WHICH, COUNT) and '"status":"ok"' not in last.text:
            yield f"{text} stands for a result that found nothing: {last.text[:60]}"
    elif text in PLACEHOLDERS:
        if not any(message.role == "tool" for message in before):
            yield f"{text} stands where there is no result"
    elif text not in own_sentences():
        yield f"it makes up {text!r}"


def _call(tool: str, arguments: Data) -> Iterator[str]:
    known = tools().get(tool)
    if known is None:
        yield f"there is no tool {tool}"
        return
    missing = [name for name in known.required if name not in arguments]
    if missing:
        yield f"{tool} lacks {missing}"
    for name, value in arguments.items():
        parameter = known.parameters.get(name)
        if parameter is None:
            yield f"{tool} takes no {name}"
        elif not parameter.takes(value):
            yield f"{tool} does not take {value!r} for {name}"


def _copies(arguments: Data, before: list[Message]) -> Iterator[str]:
    """Each copy stands in what the user said or a tool returned."""
    chat = [text for message in before for text in _texts_of(message)]
    for name, text in _named_texts(arguments):
        if name in COPIED and not any(_folded(text) in one for one in chat):
            yield f"{name} is {text!r}, which nobody said or found"


def _texts_of(message: Message) -> Iterator[str]:
    """The texts that may be copied from a message, without spaces and in small letters."""
    if message.role == "user":
        yield _folded(message.text)
    elif message.role == "tool":
        yield from (_folded(text) for _, text in _named_texts(json.loads(message.text)))


def _named_texts(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Each text of a JSON value with the name of its field."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for item in value:
            yield from _named_texts(item, name)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _named_texts(item, key)


def _folded(text: str) -> str:
    return "".join(text.split()).lower()


def _outcome(text: str, before: Message) -> Iterator[str]:
    if before.call is None:
        yield "a result follows no call"
    if len(text.encode()) > MAX_BYTES + 200:
        yield f"a result has {len(text.encode())} bytes"
    if json.loads(text)["status"] not in STATUSES:
        yield f"a result has an unknown status: {text[:60]}"


@cache
def own_sentences() -> frozenset[str]:
    """Everything that the assistant says itself."""
    said = {
        text
        for table in (answers.SAID, life_answers.TALK, notes_answers.TALK)
        for texts in table.values()
        for text in texts.values()
    }
    toolkits = (("life",), ("notes",), ("life", "notes"))
    return frozenset(said) | {
        answers.of_itself(language, kind, present)
        for language, kind, present in product(LIFE, ("greet", "who", "outside"), toolkits)
    }


@dataclass(frozen=True)
class Parameter:
    """A parameter as the table of its tool describes it."""

    kind: str

    def takes(self, value: object) -> bool:
        """Whether the value is of the type and within its bounds."""
        if self.kind.startswith("string"):
            most = re.search(r"(\d+) characters", self.kind)
            least = 1 if "1 to" in self.kind else 0
            return isinstance(value, str) and least <= len(value) <= (int(most[1]) if most else 10_000)
        if self.kind.startswith("integer"):
            low, high = (int(bound) for bound in re.findall(r"\d+", self.kind))
            return isinstance(value, int) and low <= value <= high
        if self.kind.startswith('`"'):
            return value in re.findall(r'"(\w+)"', self.kind)
        return isinstance(value, {"boolean": bool}.get(self.kind, list))


@dataclass
class Tool:
    """A tool as the page of all tools describes it."""

    parameters: dict[str, Parameter] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)


@cache
def tools() -> dict[str, Tool]:
    """The tools by their names, from the page that the toolkits' own test keeps true."""
    found: dict[str, Tool] = {}
    tool = Tool()
    for line in TOOLS.read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"### `(\w+)`", line):
            tool = found.setdefault(heading[1], Tool())
        elif row := re.fullmatch(r"\| `(\w+)` \| (.+?) \| (yes|no) \| .*\|", line):
            tool.parameters[row[1]] = Parameter(row[2])
            if row[3] == "yes":
                tool.required.append(row[1])
    return found
