"""Turns about habits that need no tool: questions back, and what no tool is for."""

from __future__ import annotations

from ..dialogue import Dialogue
from ..lexicon import NAMES
from . import answers, results
from .keeping import written_date
from .requests_en import MONTHS
from .words import any_item, number_for, title_of

_KINDS = {"unlearnt": 5, "which_add": 3, "which_log": 3, "which_streak": 3, "which_end": 2, "which_date": 4}


def question_back(d: Dialogue) -> None:
    """Something that is missing, or that cannot be done."""
    rng, phrases = d.rng, d.phrases
    kind = rng.choices(list(_KINDS), list(_KINDS.values()))[0]
    templates = {
        "unlearnt": phrases.UNLEARNT,
        "which_add": phrases.ADD_NOTHING,
        "which_log": phrases.LOG_NOTHING,
        "which_streak": phrases.STREAK_NOTHING,
        "which_end": phrases.WHICH_END,
        "which_date": phrases.LOG_WHEN,
    }[kind]
    slots = {
        "id": number_for(rng),
        "t": title_of(d, any_item(d)),
        "name": rng.choice(NAMES[d.language]),
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
