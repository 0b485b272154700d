"""Turns about calls of which it was not known at once whether they took effect."""

from __future__ import annotations

from . import envelopes
from .dialogue import Call, Dialogue
from .failing import UNKNOWN
from .notes import results
from .notes.steps import names


def what_came_of_it(d: Dialogue) -> None:
    """The user asks whether something took effect, and the result says so by now."""
    rng = d.rng
    call = _write(d)
    if rng.random() < 0.65:
        effect = rng.choice(("committed", "none", "unknown"))
        d.tool(envelopes.discarded(call.name, effect, d.locale))
        if rng.random() < 0.75:
            d.user(d.ask(d.notes.DID_IT))
        d.result()
        return
    code, reasons = rng.choice(UNKNOWN)
    took_effect = rng.random() < 0.5
    d.tool(envelopes.settled(envelopes.error(code, reasons[d.locale]), call.name, took_effect, d.locale))
    d.result()
    d.user(d.ask(d.notes.DID_IT))
    d.result()


def _write(d: Dialogue) -> Call:
    """A line or a day is written."""
    rng = d.rng
    if "notes" in d.toolkits and (rng.random() < 0.5 or "life" not in d.toolkits):
        text = results.line(d)
        d.user(d.ask(d.notes.ADD_HERE, **names(d, text, "c")))
        return d.call("insert_block_below_current", content=text)
    number = rng.randint(1, 99)
    d.user(d.ask(d.phrases.LOG_DONE, id=number))
    return d.call("log_tracker_entry", habit_id=number, value="done")
