"""Turns that need no tool."""

from __future__ import annotations

from .. import answers, envelopes
from ..dialogue import Dialogue
from ..grammar import choose
from ..outside import OUTSIDE, request
from ..requests_en import MONTHS
from .keeping import written_date
from .words import any_item, number_for, title_of


def small_talk(d: Dialogue) -> None:
    """Something that needs no tool."""
    rng, phrases = d.rng, d.phrases
    kind = rng.choice(_TALK if "life" in d.toolkits else _ANYWHERE)
    templates = {
        "greet": phrases.GREET,
        "thanks": phrases.THANKS,
        "bye": phrases.BYE,
        "who": phrases.WHO,
        "outside": OUTSIDE[d.language],
        "nevermind": phrases.CHAT,
        "delete": phrases.DELETE,
        "which_add": phrases.ADD_NOTHING,
        "which_log": phrases.LOG_NOTHING,
        "which_streak": phrases.STREAK_NOTHING,
        "which_date": phrases.LOG_WHEN,
    }[kind]
    if kind == "outside":
        d.user(d.in_passing(d.polish(request(rng, d.language, d.own(templates)))))
        d.say(answers.of_itself(d.language, kind, d.toolkits))
        return
    title = title_of(d, any_item(d))
    slots = {
        "id": number_for(rng),
        "t": title,
        "x": rng.randint(1, 99),
        "nq": d.quoted(envelopes.note(rng, d.language, 0.2)),
        "date": written_date(d, envelopes.date(rng)),
        "mo": rng.randint(1, 12),
        "da": rng.randint(1, 28),
        "month": rng.choice(MONTHS),
        "weekday": rng.choice(phrases.WEEKDAYS),
    }
    d.user(d.ask(templates, **slots))
    if kind in ("greet", "who"):
        d.say(answers.of_itself(d.language, kind, d.toolkits))
    else:
        d.say(choose(rng, answers.SMALL_TALK[d.language][kind]))


def thanks(d: Dialogue) -> None:
    """The user is content; nothing is left to do."""
    d.user(d.ask(d.phrases.THANKS))
    d.say(choose(d.rng, answers.SMALL_TALK[d.language]["thanks"]))


_ANYWHERE = [
    *["greet", "thanks", "bye", "nevermind", "who", "who"],
    *["outside"] * 15,
]
_TALK = [
    *_ANYWHERE,
    *["delete"] * 3,
    *["which_add", "which_log"] * 2,
    *["which_streak"] * 2,
    *["which_date"] * 3,
]
