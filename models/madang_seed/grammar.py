"""A small phrase grammar.

`[a|b|]` chooses, `{slot}` fills in, `{slot:을}` adds the fitting Korean particle, `<name>` expands a macro.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache

Slots = Mapping[str, str]
_Part = Callable[[random.Random, Slots], str]

_AFTER_CONSONANT = {
    "을": ("을", "를"),
    "이": ("이", "가"),
    "은": ("은", "는"),
    "과": ("과", "와"),
    "이나": ("이나", "나"),
    "이랑": ("이랑", "랑"),
    "이라고": ("이라고", "라고"),
    "이라는": ("이라는", "라는"),
    "이란": ("이란", "란"),
    "으로": ("으로", "로"),
    "이야": ("이야", "야"),
    "이라도": ("이라도", "라도"),
    "이라면": ("이라면", "라면"),
    "이든": ("이든", "든"),
}
_CONSONANT_SOUNDING_DIGITS = "013678"
_CONSONANT_SOUNDING_LETTERS = "lmnrLMNR"


def particle(word: str, kind: str) -> str:
    """Returns the form of a particle that fits the end of a word."""
    consonant, vowel = _AFTER_CONSONANT[kind]
    last = word.rstrip("'\"’”)")[-1:]
    if "가" <= last <= "힣":
        final = (ord(last) - 0xAC00) % 28
        if kind == "으로" and final == 8:
            return vowel
        return consonant if final else vowel
    if last in _CONSONANT_SOUNDING_DIGITS or last in _CONSONANT_SOUNDING_LETTERS:
        return consonant
    return vowel


MACROS: dict[str, str] = {}


def say(rng: random.Random, template: str, /, **slots: object) -> str:
    """Expands one template at random."""
    return read(template)(rng, {name: str(value) for name, value in slots.items()})


def choose(rng: random.Random, templates: list[str], /, **slots: object) -> str:
    """Expands a template chosen from a list."""
    return say(rng, rng.choice(templates), **slots)


@cache
def read(template: str) -> _Part:
    """Reads a template.

    Raises `ValueError` if something in it is open at its end.
    """
    part, end = _sequence(template, 0, "")
    assert end == len(template), template
    return part


def _sequence(text: str, at: int, stops: str) -> tuple[_Part, int]:
    parts: list[_Part] = []
    plain = ""
    while at < len(text) and text[at] not in stops:
        mark = text[at]
        if mark not in "[{<":
            plain += mark
            at += 1
            continue
        if plain:
            parts.append(_plain(plain))
            plain = ""
        if mark == "[":
            part, at = _alternatives(text, at + 1)
        else:
            close = text.index("}" if mark == "{" else ">", at)
            name = text[at + 1 : close]
            part = _slot(name) if mark == "{" else _macro(name)
            at = close + 1
        parts.append(part)
    if plain:
        parts.append(_plain(plain))
    if len(parts) == 1:
        return parts[0], at
    return (lambda rng, slots: "".join(part(rng, slots) for part in parts)), at


def _alternatives(text: str, at: int) -> tuple[_Part, int]:
    choices: list[_Part] = []
    while True:
        part, at = _sequence(text, at, "|]")
        choices.append(part)
        if text[at] == "]":
            break
        at += 1
    return (lambda rng, slots: choices[int(rng.random() * len(choices))](rng, slots)), at + 1


def _plain(text: str) -> _Part:
    return lambda _rng, _slots: text


def _slot(name: str) -> _Part:
    name, _, kind = name.partition(":")
    if not kind:
        return lambda _rng, slots: slots[name]
    return lambda _rng, slots: slots[name] + particle(slots[name], kind)


def _macro(name: str) -> _Part:
    return lambda rng, slots: read(MACROS[name])(rng, slots)
