"""Packs whole dialogues into rows, so that little of a batch is padding and no dialogue sees another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

# The longest is the room that the model is trained for.
LENGTHS = (128, 256, 512, 1024, 2048, 3072)
TOKENS_PER_BATCH = 1024
_OPEN_ROWS = 12

Encoded = tuple[list[int], list[float]]


@dataclass
class Row:
    """A row in the making."""

    length: int
    ids: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)

    @property
    def room(self) -> int:
        """How many tokens still fit."""
        return self.length - len(self.ids)

    def add(self, ids: list[int], weights: list[float]) -> None:
        """Appends a dialogue."""
        number = self.documents[-1] + 1 if self.documents else 1
        self.ids += ids
        self.weights += weights
        self.documents += [number] * len(ids)


@dataclass(frozen=True)
class Batch:
    """Rows of one length: tokens, loss weights, and the number of the dialogue each token is of."""

    ids: np.ndarray
    weights: np.ndarray
    documents: np.ndarray


class Packer:
    """Fills rows of several lengths and gives them out by the batch."""

    def __init__(self, source: Callable[[], Encoded]) -> None:
        self._source = source
        self._open: dict[int, list[Row]] = {length: [] for length in LENGTHS}
        self._full: dict[int, list[Row]] = {length: [] for length in LENGTHS}

    def next(self) -> Batch:
        """The next batch, all of whose rows have one length."""
        while True:
            for length, rows in self._full.items():
                wanted = max(1, TOKENS_PER_BATCH // length)
                if len(rows) >= wanted:
                    taken, self._full[length] = rows[:wanted], rows[wanted:]
                    return _batch(taken, length)
            self._place(*self._source())

    def _place(self, ids: list[int], weights: list[float]) -> None:
        size = len(ids)
        if size > LENGTHS[-1]:
            return
        fitting = [row for rows in self._open.values() for row in rows if row.room >= size]
        if fitting:
            row = min(fitting, key=lambda row: row.room)
        else:
            length = next(length for length in LENGTHS if length >= size)
            row = Row(length)
            self._open[length].append(row)
        row.add(ids, weights)
        rows = self._open[row.length]
        if row.room < 16:
            self._close(row)
        elif len(rows) > _OPEN_ROWS:
            self._close(min(rows, key=lambda row: row.room))

    def _close(self, row: Row) -> None:
        self._open[row.length].remove(row)
        self._full[row.length].append(row)


def _batch(rows: list[Row], length: int) -> Batch:
    ids = np.zeros((len(rows), length), np.int64)
    weights = np.zeros((len(rows), length), np.float32)
    documents = np.zeros((len(rows), length), np.int64)
    for number, row in enumerate(rows):
        size = len(row.ids)
        ids[number, :size] = row.ids
        weights[number, :size] = row.weights
        documents[number, :size] = row.documents
    return Batch(ids, weights, documents)
