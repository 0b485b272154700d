"""Turns that need no tool, whatever the tools are for."""

from __future__ import annotations

from . import answers
from .dialogue import Dialogue
from .outside import OUTSIDE, request

_KINDS = {"greet": 1, "thanks": 1, "bye": 1, "nevermind": 1, "who": 2, "outside": 15}


def small_talk(d: Dialogue) -> None:
    """Something that needs no tool."""
    rng, phrases = d.rng, d.phrases
    kind = rng.choices(list(_KINDS), list(_KINDS.values()))[0]
    templates = {
        "greet": phrases.GREET,
        "thanks": phrases.THANKS,
        "bye": phrases.BYE,
        "who": phrases.WHO,
        "outside": OUTSIDE[d.language],
        "nevermind": phrases.CHAT,
    }[kind]
    text = d.polish(request(rng, d.language, d.own(templates))) if kind == "outside" else d.ask(templates)
    d.user(d.in_passing(text) if kind == "outside" else text)
    if kind in answers.POLITE[d.language]:
        d.say(answers.POLITE[d.language][kind])
    else:
        d.say(answers.of_itself(d.language, kind, d.toolkits))


def thanks(d: Dialogue) -> None:
    """The user is content; nothing is left to do."""
    d.user(d.ask(d.phrases.THANKS))
    d.say(answers.POLITE[d.language]["thanks"])
