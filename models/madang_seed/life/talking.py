"""Turns about habits that need no tool: questions back, and what no tool is for."""

from __future__ import annotations

from ..dialogue import Dialogue
from . import answers, results
from .keeping import written_date
from .requests_en import MONTHS
from .words import any_item, number_for, title_of

_KINDS = {"delete": 3, "which_add": 2, "which_log": 2, "which_streak": 2, "which_date": 3}


def question_back(d: Dialogue) -> None:
    """Something that is missing, or that cannot be done."""
    rng, phrases = d.rng, d.phrases
    kind = rng.choices(list(_KINDS), list(_KINDS.values()))[0]
    templates = {
        "delete": phrases.DELETE,
        "which_add": phrases.ADD_NOTHING,
        "which_log": phrases.LOG_NOTHING,
        "which_streak": phrases.STREAK_NOTHING,
        "which_date": phrases.LOG_WHEN,
    }[kind]
    slots = {
        "id": number_for(rng),
        "t": title_of(d, any_item(d)),
        "x": rng.randint(1, 99),
        "nq": d.quoted(results.note(rng, d.language, 0.2)),
        "date": written_date(d, results.date(rng)),
        "mo": rng.randint(1, 12),
        "da": rng.randint(1, 28),
        "month": rng.choice(MONTHS),
        "weekday": rng.choice(phrases.WEEKDAYS),
    }
    d.user(d.ask(templates, **slots))
    d.say(answers.TALK[d.language][kind])
