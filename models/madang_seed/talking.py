"""Turns that need no tool, whatever the tools are for."""

from __future__ import annotations

from . import answers
from .dialogue import Dialogue
from .outside import OUTSIDE, filled
from .restraint import FOREIGN, SAYINGS, rubbish

# Each kind with its weight. Those of `restraint.py` are answered by the sentence of that name, the rest of itself.
_KINDS = {
    "greet": 2,
    "thanks": 2,
    "bye": 2,
    "nevermind": 3,
    "who": 4,
    "outside": 26,
    "heard": 22,
    "later": 9,
    "dont": 8,
    "unclear": 5,
    "languages": 2,
    "crisis": 1,
}


def small_talk(d: Dialogue) -> None:
    """Something that needs no tool."""
    rng, phrases = d.rng, d.phrases
    kind = rng.choices(list(_KINDS), list(_KINDS.values()))[0]
    if kind == "languages":
        d.user(rng.choice(FOREIGN))
    elif kind == "unclear" and rng.random() < 0.35:
        d.user(rubbish(rng, d.language))
    elif kind in SAYINGS[d.language] or kind == "outside":
        templates = OUTSIDE[d.language] if kind == "outside" else SAYINGS[d.language][kind]
        text = d.polish(filled(rng, d.language, d.own(templates)))
        d.user(d.careless(d.in_passing(text) if kind == "outside" else text))
    else:
        own = {"greet": phrases.GREET, "thanks": phrases.THANKS, "bye": phrases.BYE, "who": phrases.WHO}
        d.user(d.ask(own.get(kind, phrases.CHAT)))
    said = "nevermind" if kind in ("later", "dont") else kind
    if said in answers.SAID[d.language]:
        d.say(answers.SAID[d.language][said])
    else:
        d.say(answers.of_itself(d.language, kind, d.toolkits))


def thanks(d: Dialogue) -> None:
    """The user is content; nothing is left to do."""
    d.user(d.ask(d.phrases.THANKS))
    d.say(answers.SAID[d.language]["thanks"])
