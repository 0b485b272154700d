"""Words and other small things that all turns about habits need."""

from __future__ import annotations

import random
from functools import cache

from .. import failing
from ..dialogue import Dialogue
from ..lexicon import NOUNS, TERMS, compound, invented
from . import results
from .catalogue import Item, catalogue


def keyword_for(d: Dialogue) -> str:
    """A word to search for, which is no word for a category."""
    rng = d.rng
    taken = d.phrases.CATEGORY_WORDS
    while True:
        language = d.other_language(0.06)
        roll = rng.random()
        if roll < 0.38:
            word = compound(rng, language, d.novelty)
        elif roll < 0.38 + 0.5 * d.novelty:
            word = invented(rng, language)
        elif roll < 0.55 + 0.4 * d.novelty:
            word = rng.choice(rng.choice(catalogue()).keywords[language])
        else:
            word = rng.choice(NOUNS[language] if rng.random() < 0.97 else TERMS)
        if any(word in words for words in taken.values()) or word in _AMBIGUOUS or word.lower() in _titles():
            continue
        return word


@cache
def _titles() -> frozenset[str]:
    return frozenset(title.lower() for item in catalogue() for title in item.title.values())


_AMBIGUOUS = frozenset(
    "관계 휴식 체력 피로 긴장 공부 몰입 대화 빛 마음 낮 밤 잠 일 "
    "light sleep relaxing eating focus work study rest relaxation".split()
)


def any_item(d: Dialogue) -> Item:
    """An item of the catalogue."""
    return d.rng.choice(catalogue())


def title_of(d: Dialogue, item: Item) -> str:
    """How a user writes a title."""
    if d.rng.random() < 0.04:
        return item.title["en" if d.language == "ko" else "ko"]
    title = item.title[d.language]
    if d.language == "en" and d.rng.random() < 0.5:
        return title.lower()
    if d.language == "ko" and d.rng.random() < 0.07:
        return title.replace(" ", "")
    return title


def number_for(rng: random.Random) -> int:
    """The number of a habit."""
    roll = rng.random()
    if roll < 0.7:
        return rng.randint(1, 9)
    return rng.randint(10, 99) if roll < 0.95 else rng.randint(100, 999)


def maybe_quoted(d: Dialogue, text: str) -> str:
    """A text, mostly in quotation marks."""
    return d.quoted(text) if d.rng.random() < 0.8 else text


def fail(d: Dialogue, tool: str, /, **slots: object) -> None:
    """The tool fails."""
    failing.fail(d, tool, results.FAILURES.get(tool, []), **slots)
