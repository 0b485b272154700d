"""The catalogue of the life toolkit, read from the one file that the tools use too."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CATALOGUE = Path(__file__).parents[3] / "toolkits" / "src" / "life" / "catalogue.json"
LANGUAGES = ("ko", "en")
CATEGORIES = (
    "lightCircadian",
    "sleep",
    "movement",
    "nutrition",
    "focusCognition",
    "recoveryStress",
    "emotionRelationship",
    "breakHabit",
)

Texts = dict[str, str]


@dataclass(frozen=True)
class Item:
    """One item, each text in both languages."""

    id: str
    kind: str
    category: str
    title: Texts
    summary: Texts
    why: Texts
    steps: dict[str, list[str]]
    standard: Texts
    minimum: Texts
    anchor: Texts
    keywords: dict[str, list[str]]

    @property
    def habit_type(self) -> str:
        """Whether a habit of it is built or broken."""
        return "break" if self.kind == "break" else "build"


@cache
def catalogue() -> tuple[Item, ...]:
    """All items in their order."""
    rows = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    return tuple(
        Item(
            id=row["id"],
            kind=row["kind"],
            category=row["category"],
            title=row["title"],
            summary=row["summary"],
            why=row["why"],
            steps=row["steps"],
            standard=row["dose"]["standard"],
            minimum=row["dose"]["minimum"],
            anchor=row["anchor"],
            keywords=row["keywords"],
        )
        for row in rows
    )
