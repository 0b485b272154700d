"""Turns about notes that need no tool: questions back, what no tool can do, and what is not to be done."""

from __future__ import annotations

from .. import envelopes
from ..answers import SAID, of_itself
from ..dialogue import Dialogue
from ..grammar import choose
from ..lexicon import NAMES, invented
from . import answers, results
from .steps import find_block, find_page, names
from .writing import add_line, change

_TALK = {
    "MAKE_NOTHING": 4,
    "ADD_NOTHING_HERE": 5,
    "CHANGE_NOTHING": 4,
    "DELETE_NOTHING": 4,
    "FIND_NOTHING": 3,
    "OPEN_NOTHING": 2,
    "RENAME_NOTHING": 2,
    "UNABLE": 8,
    "OTHERS": 5,
    "DONT": 10,
    "HOW": 6,
}


def question_back(d: Dialogue) -> None:
    """Something about notes for which nothing is called."""
    rng = d.rng
    kind = rng.choices(list(_TALK), list(_TALK.values()))[0]
    slots = _slots(d)
    d.user(d.in_passing(d.ask(getattr(d.notes, kind), **slots)))
    if kind == "UNABLE":
        d.say(of_itself(d.language, "outside", d.toolkits))
    elif kind == "DONT":
        d.say(SAID[d.language]["nevermind"])
    else:
        d.say(answers.TALK[d.language][kind])
    if rng.random() < 0.3 and kind in _ANSWERED:
        _ANSWERED[kind](d, slots)


def _slots(d: Dialogue) -> dict[str, str]:
    rng = d.rng
    title, line = results.title(d), results.line(d)
    name = rng.choice(NAMES[d.language]) if rng.random() < 0.5 else invented(rng, d.language).capitalize()
    other = results.title(d)
    lines = names(d, line, "a") | names(d, results.line(d), "c")
    return {"t": title, "q": d.quoted(title), "name": name, **names(d, other, "p"), **lines}


def _make_titled(d: Dialogue, _slots: dict[str, str]) -> None:
    """The title that was asked back for."""
    title = results.title(d)
    d.user(choose(d.rng, _BARE[d.language], c=title, cq=d.quoted(title)))
    d.call("create_page", title=title)
    page = results.Page(results.new_id(d), title)
    d.tool(envelopes.ok(results.created(page)))
    d.result()


def _open_titled(d: Dialogue, _slots: dict[str, str]) -> None:
    """The page that was asked back for."""
    title = results.title(d)
    d.user(choose(d.rng, _BARE[d.language], c=title, cq=d.quoted(title)))
    d.call("open_page", pageTitle=title)
    count = d.rng.randint(0, 30)
    d.tool(envelopes.ok(results.opened(results.page(d, title), count)))
    d.result()


def _add_text(d: Dialogue, slots: dict[str, str]) -> None:
    """The content that was asked back for."""
    text = results.line(d)
    asked = d.messages[-2].text
    d.user(choose(d.rng, _BARE[d.language], c=text, cq=d.quoted(text)))
    if slots["p"] in asked:
        find_page(d, slots["p"], lambda page: add_line(d, page, text))
        return
    d.call("insert_block_below_current", content=text)
    d.tool(envelopes.ok(results.block(d, text).made()))
    d.result()


def _change_text(d: Dialogue, slots: dict[str, str]) -> None:
    """The new text of a line, which was asked back for."""
    if slots["a"] not in d.messages[-2].text:
        return
    text = results.line(d)
    d.user(choose(d.rng, _TO[d.language], c=text, cq=d.quoted(text)))
    find_block(d, slots["a"], slots["a"], lambda block: change(d, block, text))


_ANSWERED = {
    "MAKE_NOTHING": _make_titled,
    "OPEN_NOTHING": _open_titled,
    "ADD_NOTHING_HERE": _add_text,
    "CHANGE_NOTHING": _change_text,
}
_BARE = {
    "ko": ["{c}", "{cq}", "{cq:이라고}", "{cq:으로} 해줘", "{c:으로}"],
    "en": ["{c}", "{cq}", "{cq} please", "it's {cq}", "{c}"],
}
_TO = {"ko": ["{cq:으로}", "{cq:으로} 바꿔줘", "{cq}"], "en": ["to {cq}", "{cq}", "{cq} please"]}
