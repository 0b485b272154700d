"""Turns that need no tool."""

from __future__ import annotations

from .. import answers
from ..dialogue import Dialogue
from ..grammar import choose
from ..lexicon import NAMES, noun
from ..requests_en import MONTHS
from .words import any_item, number_for, title_of


def small_talk(d: Dialogue) -> None:
    """Something that needs no tool."""
    rng, phrases = d.rng, d.phrases
    kind = rng.choice(_TALK)
    templates = {
        "greet": phrases.GREET,
        "thanks": phrases.THANKS,
        "bye": phrases.BYE,
        "who": phrases.WHO,
        "outside": phrases.OUTSIDE,
        "delete": phrases.DELETE,
        "which_add": phrases.ADD_NOTHING,
        "which_log": phrases.LOG_NOTHING,
        "which_streak": phrases.STREAK_NOTHING,
        "which_date": phrases.LOG_WHEN,
    }[kind]
    title = title_of(d, any_item(d))
    slots = {
        "id": number_for(rng),
        "t": title,
        "k": noun(rng, d.language, 0.2),
        "x": rng.randint(1, 99),
        "y": rng.randint(1, 99),
        "mo": rng.randint(1, 12),
        "da": rng.randint(1, 28),
        "name": rng.choice(NAMES[d.language]),
        "month": rng.choice(MONTHS),
    }
    d.user(d.ask(templates, **slots))
    d.say(choose(rng, answers.SMALL_TALK[d.language][kind]))


def thanks(d: Dialogue) -> None:
    """The user is content; nothing is left to do."""
    d.user(d.ask(d.phrases.THANKS))
    d.say(choose(d.rng, answers.SMALL_TALK[d.language]["thanks"]))


_TALK = [
    "greet",
    "thanks",
    "who",
    "who",
    "outside",
    "outside",
    "outside",
    "delete",
    "delete",
    "which_add",
    "which_add",
    "which_log",
    "which_log",
    "which_streak",
    "which_streak",
    "which_date",
    "which_date",
    "bye",
]
