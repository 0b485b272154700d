"""Turns that add a habit."""

from __future__ import annotations

from .. import answers, envelopes
from ..catalogue import catalogue
from ..dialogue import Dialogue
from ..envelopes import Data, Habit
from ..grammar import choose
from .keeping import record_day
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
        _, reasons, texts = answers.FAILURES["add_habit"][2]
        d.tool(envelopes.error("r3_frame", reasons[d.locale]))
        d.say(texts[d.language])
        return
    roll = rng.random()
    if roll < 0.17:
        why = rng.choice(("denied", "denied", "denied", "expired", "unreachable", "unreachable", "dismissed"))
        d.tool(envelopes.cancelled(why))
        d.say(answers.cancelled(rng, d.language, why, "add_habit"))
        if rng.random() < 0.2:
            d.user(d.ask(d.phrases.AGAIN))
            d.call("add_habit", **arguments)
            _added(d, arguments)
        return
    if roll < 0.32:
        fail(d, "add_habit", {})
        return
    _added(d, arguments)


def _added(d: Dialogue, arguments: Data) -> None:
    rng = d.rng
    known = {item.id: item for item in catalogue()}
    item = known.get(arguments["protocol_id"])
    title = item.title[d.locale] if item else arguments["framed_text"]
    extra = {key: arguments[key] for key in ("anchor_when", "anchor_after_what", "dose_text") if key in arguments}
    habit = Habit(
        number_for(rng),
        arguments["protocol_id"],
        title,
        item.habit_type if item else "build",
        arguments["frame_level"],
        arguments["framed_text"],
        extra,
        envelopes.date(rng),
    )
    already = rng.random() < 0.15
    data = habit.data() | ({"already_active": True} if already else {})
    d.tool(envelopes.ok(data))
    d.say(answers.added(rng, d.language, habit, already))
    if rng.random() < 0.1:
        d.user(d.ask(_THIS_DONE[d.language]))
        record_day(d, habit.id, "done")


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
    if rng.random() < 0.45:
        d.user(d.in_passing(d.ask(d.phrases.ADD, t=title, q=d.quoted(title))))
        add_item(d, item.id, own_title)
        return
    if rng.random() < 0.06:
        title = item.id
    given: dict[str, str] = {}
    parts: list[str] = []
    wanted = [
        key
        for key in ("anchor_when", "anchor_after_what", "dose_text", "level", "framed")
        if rng.random() < (0.5 if key == "framed" else 0.3)
    ]
    if not wanted:
        wanted = ["framed"]
    if "anchor_when" in wanted and "anchor_after_what" in wanted and rng.random() < 0.7:
        wanted.remove("anchor_after_what")
    for key in wanted:
        if key == "level":
            value = rng.choice(("L0", "L1", "L2", "L3", "L3", "L3"))
            given["frame_level"] = value
            parts.append(choose(rng, d.phrases.ADD_PARTS["level"], l=value if rng.random() < 0.85 else value.lower()))
        elif key == "framed":
            value = envelopes.framed_text(rng, d.language, d.novelty)
            given["framed_text"] = value
            parts.append(choose(rng, d.phrases.ADD_PARTS["framed"], f=d.quoted(value)))
        elif key == "anchor_when":
            value = envelopes.anchor_when(rng, d.language)
            given[key] = value
            at = value if d.language == "ko" or value[0].isdigit() or value in _AT else ""
            if at:
                parts.append(choose(rng, d.phrases.ADD_PARTS["when"], w=value))
            else:
                parts.append(value)
        elif key == "anchor_after_what":
            value = envelopes.anchor_after(rng, d.language, d.novelty)
            given[key] = value
            parts.append(choose(rng, d.phrases.ADD_PARTS["after"], a=value))
        else:
            value = envelopes.dose(rng, d.language)
            given[key] = value
            parts.append(choose(rng, d.phrases.ADD_PARTS["dose"], d=value))
    rng.shuffle(parts)
    joined = parts[0] + "".join(rng.choice((" ", " ", ", ")) + part for part in parts[1:])
    # The framed text is copied as it stands, so nothing is tidied here but doubled spaces.
    text = choose(rng, d.own(d.phrases.ADD_FULL), t=title, q=d.quoted(title), parts=joined)
    d.user(" ".join(text.split()))
    add_item(d, item.id, own_title, **given)


_AT = frozenset(("noon", "lunchtime", "midnight", "sunrise", "weekends"))
