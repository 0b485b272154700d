"""Turns that add a habit."""

from __future__ import annotations

from collections.abc import Callable

from .. import envelopes
from ..dialogue import Dialogue
from ..envelopes import Data
from ..failing import not_allowed
from ..grammar import choose
from . import results
from .catalogue import catalogue
from .changing import end_known
from .keeping import active_habits, record_day
from .results import Habit
from .words import any_item, fail, number_for, title_of


def add_item(d: Dialogue, item_id: str, title: str, **given: str) -> None:
    """Adds an item whose title stands in the result as `title`."""
    rng = d.rng
    arguments = {
        "protocol_id": item_id,
        "frame_level": given.get("frame_level", "L2"),
        "framed_text": given.get("framed_text", title),
        **{key: given[key] for key in ("anchor_when", "anchor_after_what", "dose_text") if key in given},
    }
    d.call("add_habit", **arguments)
    if arguments["frame_level"] in ("L0", "L1"):
        d.tool(envelopes.error("r3_frame", _FRAME[d.locale]))
        d.result()
        return
    roll = rng.random()
    if roll < 0.15:
        not_allowed(d, results.note(rng, d.language, 0.1) if rng.random() < 0.2 else None)
        if rng.random() < 0.25:
            d.user(d.ask(d.phrases.AGAIN))
            d.call("add_habit", **arguments)
            _added(d, arguments)
    elif roll < 0.28:
        fail(d, "add_habit")
    else:
        _added(d, arguments)


_FRAME = dict(results.FAILURES["add_habit"])["r3_frame"]


def _added(d: Dialogue, arguments: Data) -> None:
    rng = d.rng
    item_id = arguments["protocol_id"]
    if active := next((one for one in d.habits or [] if one.item_id == item_id), None):
        d.tool(envelopes.ok(active.data() | {"already_active": True}))
        d.result()
        return
    asked = arguments
    if rng.random() < 0.05:
        arguments = {**arguments, "framed_text": framed_text(d)}
    known = {item.id: item for item in catalogue()}
    item = known.get(item_id)
    title = item.title[d.locale] if item else arguments["framed_text"]
    extra = {key: arguments[key] for key in ("anchor_when", "anchor_after_what", "dose_text") if key in arguments}
    others = [one for one in active_habits(d, rng.choice((0, 0, 1, 2, 3))) if one.item_id != item_id]
    taken = {one.id for one in others}
    number = number_for(rng)
    while number in taken:
        number = number_for(rng)
    habit = Habit(
        number,
        item_id,
        title,
        item.habit_type if item else "build",
        arguments["frame_level"],
        arguments["framed_text"],
        extra,
        results.date(rng),
    )
    told = envelopes.ok(habit.data())
    d.tool(told if arguments is asked else envelopes.changed(told, arguments))
    d.result()
    d.habits = [*others, habit]
    roll = rng.random()
    if roll < 0.1:
        d.user(d.ask(_THIS_DONE[d.language]))
        record_day(d, habit.id, "done")
    elif roll < 0.22:
        d.user(d.ask(d.phrases.TAKE_BACK))
        end_known(d, habit.id, habit.title)


_THIS_DONE = {
    "ko": ["[방금 추가한|지금 추가한] [습관|거] 오늘 <done>", "[그 습관|그거] 오늘 <done>", "그거 벌써 했어. 기록해줘"],
    "en": ["I did [it|that one|that habit] today", "[mark|log] it as done[ today|]", "I already did it today, log it"],
}


def add(d: Dialogue) -> None:
    """Adds an item named by its title, with some, all or none of the particulars."""
    rng = d.rng
    item = any_item(d)
    title = title_of(d, item)
    own_title = item.title[d.language]
    if rng.random() < 0.42:
        other = title_of(d, any_item(d))
        while other == title:
            other = title_of(d, any_item(d))
        d.user(d.in_passing(d.ask(d.phrases.ADD, t=title, q=d.quoted(title), u=other)))
        add_item(d, item.id, own_title)
        return
    if rng.random() < 0.06:
        title = item.id
    given, parts = _particulars(d)
    text = _with_particulars(d, title, parts)
    if "framed_text" not in given and rng.random() < 0.08:
        # At the end of a message a sentence needs no quotation marks.
        given["framed_text"] = framed_text(d)
        text = text.rstrip(".!?~ ") + choose(rng, d.phrases.ADD_TEXT, f=given["framed_text"])
    # The framed text is copied as it stands, so nothing is tidied here but doubled spaces.
    d.user(d.in_passing(" ".join(text.split())))
    add_item(d, item.id, own_title, **given)


# How often each particular is given; an empty draw becomes a sentence.
_WANTED = {"anchor_when": 0.4, "anchor_after_what": 0.25, "dose_text": 0.42, "frame_level": 0.3, "framed_text": 0.5}


def _particulars(d: Dialogue) -> tuple[dict[str, str], list[str]]:
    """Particulars of a habit and how each is put into words, in any order."""
    rng = d.rng
    wanted = [key for key, share in _WANTED.items() if rng.random() < share] or ["framed_text"]
    if "anchor_when" in wanted and "anchor_after_what" in wanted and rng.random() < 0.6:
        wanted.remove(rng.choice(("anchor_after_what", "anchor_when")))
    given = {key: _VALUES[key](d) for key in wanted}
    parts = [_put(d, key, value) for key, value in given.items()]
    if "frame_level" in given:
        given["frame_level"] = given["frame_level"].upper()
    rng.shuffle(parts)
    return given, parts


def framed_text(d: Dialogue) -> str:
    """A sentence of the user, now and then in the other language."""
    return results.framed_text(d.rng, d.other_language(), d.novelty)


_VALUES: dict[str, Callable[[Dialogue], str]] = {
    "anchor_when": lambda d: results.anchor_when(d.rng, d.language),
    "anchor_after_what": lambda d: results.anchor_after(d.rng, d.language, d.novelty),
    "dose_text": lambda d: results.dose(d.rng, d.language),
    "frame_level": lambda d: d.rng.choice(("L0", "L1", "L2", "L2", "L3", "L3", "L3", "l2", "l3")),
    "framed_text": framed_text,
}


def _put(d: Dialogue, key: str, value: str) -> str:
    """One particular in words."""
    phrases = d.phrases.ADD_PARTS
    if key == "frame_level":
        return choose(d.rng, phrases["level"], l=value)
    if key == "framed_text":
        return choose(d.rng, phrases["framed"], f=d.quoted(value))
    if key == "dose_text":
        return choose(d.rng, phrases["dose"], d=value)
    if key == "anchor_after_what":
        bare = d.language == "ko" and value.endswith(("나서", "다음"))
        return choose(d.rng, phrases["bare_after" if bare else "after"], a=value)
    at = d.language == "ko" or value[0].isdigit() or value in _AT or value.startswith(("half past", "quarter to"))
    return choose(d.rng, phrases["when" if at else "bare_when"], w=value)


def _with_particulars(d: Dialogue, title: str, parts: list[str]) -> str:
    """The request with its particulars in one place, or some before and some behind the title."""
    rng = d.rng
    quoted = d.quoted(title)
    joined = lambda some: some[0] + "".join(rng.choice((" ", " ", ", ", d.phrases.AND)) + one for one in some[1:])  # noqa: E731
    if len(parts) < 2 or rng.random() < 0.4:
        text = choose(rng, d.own(d.phrases.ADD_FULL), t=title, q=quoted, parts=joined(parts))
    else:
        cut = rng.randint(1, len(parts) - 1)
        element = quoted if rng.random() < 0.45 else title
        some, others = joined(parts[:cut]), joined(parts[cut:])
        text = choose(rng, d.own(d.phrases.ADD_SPLIT), e=element, some=some, others=others)
    return text[:1].upper() + text[1:] if rng.random() < 0.4 else text


_AT = frozenset(("noon", "lunchtime", "midnight", "sunrise", "dawn", "dusk", "sunset", "teatime", "mid-afternoon"))
