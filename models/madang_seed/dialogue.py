"""A conversation in the making: what was said, called and answered so far."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .envelopes import Data
from .grammar import MACROS, choose
from .life import requests_en as life_en
from .life import requests_ko as life_ko
from .notes import requests_en as notes_en
from .notes import requests_ko as notes_ko
from .notes.ids import Ids
from .placeholders import COUNT, RESULT, WHICH

if TYPE_CHECKING:
    from .life.results import Habit

LIFE = {"ko": life_ko, "en": life_en}
NOTES = {"ko": notes_ko, "en": notes_en}


@dataclass(frozen=True)
class Call:
    """A tool call of the assistant."""

    name: str
    arguments: Data


@dataclass(frozen=True)
class Message:
    """One message; an assistant's has text or a call."""

    role: str
    text: str = ""
    call: Call | None = None


@dataclass
class Dialogue:
    """A conversation in the making."""

    rng: random.Random
    language: str
    locale: str
    novelty: float
    messages: list[Message] = field(default_factory=list)
    toolkits: tuple[str, ...] = ("life", "notes")
    # Where the ids of pages and blocks come from, once one is needed.
    ids: Ids | None = None
    # The active habits, once some were listed or added.
    habits: list[Habit] | None = None

    @property
    def phrases(self):  # noqa: ANN201 - a module
        """The phrases of the user's language about habits."""
        return LIFE[self.language]

    @property
    def notes(self):  # noqa: ANN201 - a module
        """The phrases of the user's language about notes."""
        return NOTES[self.language]

    def other_language(self, share: float = 0.12) -> str:
        """The language of the user, or with the given probability the other one."""
        return self.language if self.rng.random() >= share else ("en" if self.language == "ko" else "ko")

    def ask(self, templates: list[str], **slots: object) -> str:
        """Puts a request into words; what is copied out of it stays as it is."""
        raw = choose(self.rng, self.own(templates), **slots)
        text = self.polish(raw)
        if any(value in raw and value not in text for value in slots.values() if isinstance(value, str)):
            text = " ".join(raw.split())
        return self.careless(text, *slots.values())

    def own(self, templates: list[str]) -> list[str]:
        """Templates with the macros of the user's language."""
        return [_with_macros(template, self.language) for template in templates]

    def polish(self, text: str) -> str:
        """Tidies what the grammar left, and now and then types carelessly."""
        rng = self.rng
        text = " ".join(text.split()).replace(" ?", "?").replace(" .", ".").replace(" ,", ",").replace(" !", "!")
        for doubled in ("??", "?.", ".?", ".!", "!.", "?!", "..."):
            if doubled != "..." and doubled in text:
                text = text.replace(doubled, doubled[0])
        text = re.sub(r"요요(?=\W*$)", "요", text)
        if text.lower().count("please") > 1:
            text = re.sub(r",? please(?=\W*$)", "", text)
        if self.language == "en":
            if rng.random() < 0.55:
                text = text[:1].upper() + text[1:]
            if "'" not in text.replace("I'", "").replace("n't", "") and rng.random() < 0.06:
                text = text.lower() if not any(char.isupper() for char in text[1:].replace("I", "")) else text
            if text.split(" ")[0].lower() in _QUESTION_WORDS and text[-1].isalpha() and rng.random() < 0.6:
                text += "?"
        elif text[-1:] in "어아야지까나요니" and "뭐" in text and rng.random() < 0.3:
            text += "?"
        return text

    def careless(self, text: str, *copied: object) -> str:
        """Now and then types in haste: common words misspelt, spaces left out, a face behind it.

        What is to be copied stays as it is, and nothing is put behind it where it ends the text.
        """
        rng = self.rng
        kept = [str(value) for value in copied if len(str(value)) > 1 and str(value) in text]
        if rng.random() < 0.08:
            for word, spellings in self.phrases.MISSPELT.items():
                if word in text and not any(word in value for value in kept) and rng.random() < 0.6:
                    text = text.replace(word, rng.choice(spellings), 1)
        if self.language == "ko" and rng.random() < 0.05:
            text = _closed_up(rng, text, kept)
        if rng.random() < 0.05 and not any(text.endswith(value) for value in kept):
            text = f"{text.rstrip('.')}{rng.choice(self.phrases.FACES)}"
        return text

    def squeezed(self, text: str) -> str:
        """Now and then forgets the spaces, as hasty Korean does. Only for requests that nothing is copied from."""
        return text.replace(" ", "") if self.language == "ko" and self.rng.random() < 0.06 else text

    def in_passing(self, text: str) -> str:
        """Now and then says something else first, often why it is wanted."""
        if self.rng.random() > 0.09:
            return text
        return f"{self.rng.choice(self.phrases.CHATTER)} {text}"

    def user(self, text: str) -> None:
        """The user says something."""
        self.messages.append(Message("user", text))

    def say(self, text: str) -> None:
        """The assistant says something."""
        self.messages.append(Message("assistant", text))

    def result(self) -> None:
        """The assistant leaves it to the program to say what the calls of this turn did."""
        self.say(RESULT)

    def which(self) -> None:
        """The assistant has the program ask which of the hits is meant."""
        self.say(WHICH)

    def count(self) -> None:
        """The assistant has the program say how many there are."""
        self.say(COUNT)

    def call(self, name: str, **arguments: object) -> Call:
        """The assistant calls a tool."""
        call = Call(name, {key: value for key, value in arguments.items() if value is not None})
        self.messages.append(Message("assistant", call=call))
        return call

    def tool(self, envelope: str) -> None:
        """The tool answers."""
        self.messages.append(Message("tool", envelope))

    def quoted(self, text: str) -> str:
        """A text in quotation marks of some kind."""
        opening, closing = self.rng.choice(_QUOTES if "'" not in text else _DOUBLE_QUOTES)
        return f"{opening}{text}{closing}"


def _closed_up(rng: random.Random, text: str, kept: list[str]) -> str:
    """A text in which some spaces are left out, but none of what is to be copied."""
    whole = {place for value in kept for start in _places(text, value) for place in range(start, start + len(value))}
    share = rng.choice((0.4, 0.7, 1.0))
    return "".join(
        letter
        for place, letter in enumerate(text)
        if letter != " " or place in whole or rng.random() > share
    )


def _places(text: str, value: str) -> Iterator[int]:
    place = text.find(value)
    while place >= 0:
        yield place
        place = text.find(value, place + 1)


_QUOTES = [("'", "'"), ("'", "'"), ('"', '"'), ('"', '"'), ("“", "”"), ("‘", "’"), ("「", "」")]
_DOUBLE_QUOTES = [('"', '"'), ("“", "”")]
_QUESTION_WORDS = frozenset("what which how why who when is are do does can could would have any anything got".split())
# Korean allows a space before an auxiliary verb, and people do both.
_AUXILIARY = re.compile(r"(?<=[가-힣])(?=줘|줄래|줄 수|주세요|주시|줬으면|주면|<go>)")
_cache: dict[tuple[str, str], str] = {}


def _with_macros(template: str, language: str) -> str:
    known = _cache.get((template, language))
    if known is None:
        known = _AUXILIARY.sub("[| ]", template) if language == "ko" else template
        for name in _NAMES[language]:
            known = known.replace(f"<{name}>", f"<{language}.{name}>")
        _cache[(template, language)] = known
    return known


_NAMES: dict[str, list[str]] = {}
for _language in ("ko", "en"):
    _macros = LIFE[_language].MACROS | NOTES[_language].MACROS
    assert len(_macros) == len(LIFE[_language].MACROS) + len(NOTES[_language].MACROS), "two macros have one name"
    _NAMES[_language] = list(_macros)
    for _name, _template in _macros.items():
        MACROS[f"{_language}.{_name}"] = _with_macros(_template, _language)
