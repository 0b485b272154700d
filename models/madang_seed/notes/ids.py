"""Ids of pages and blocks: UUIDs, as the tools give them out."""

from __future__ import annotations

import random


class Ids:
    """Ids as they are given out: mostly ordered by time, so that those of one conversation begin alike."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._is_ordered = rng.random() < 0.7
        self._milliseconds = rng.randint(1_760_000_000_000, 1_900_000_000_000)
        self._counter = rng.getrandbits(41)

    def next(self) -> str:
        """The next id."""
        rng = self._rng
        if not self._is_ordered:
            return _spelled(rng.getrandbits(122), 4)
        passed = rng.choice((0, 0, 1, 2, rng.randint(1, 40), rng.randint(1, 3000), rng.randint(1, 10**8)))
        self._milliseconds += passed
        self._counter = rng.getrandbits(41) if passed else self._counter + 1
        return _spelled(self._milliseconds << 74 | self._counter << 32 | rng.getrandbits(32), 7)


def _spelled(bits: int, version: int) -> str:
    """122 bits around a version and the two bits of the variant."""
    low = bits & ((1 << 62) - 1)
    middle = bits >> 62 & 0xFFF
    high = bits >> 74
    text = f"{high << 80 | version << 76 | middle << 64 | 0b10 << 62 | low:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
