"""What the tools answer: the same shapes and texts as the toolkit's own, and what may stand in them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from ..envelopes import Data, ok
from ..failing import Failures
from ..grammar import say
from ..lexicon import ADJECTIVES, ANCHORS_AFTER, ANCHORS_WHEN, DOSES, FRAMED, INJECTIONS, NOTES, invented, noun
from .catalogue import CATEGORIES, Item, catalogue


@dataclass(frozen=True)
class Row:
    """One search result."""

    id: str
    title: str
    summary: str
    category: str

    def data(self) -> Data:
        """As the tool writes it."""
        return {"id": self.id, "title": self.title, "summary": self.summary, "category": self.category}


@dataclass(frozen=True)
class Habit:
    """One active habit."""

    id: int
    item_id: str
    title: str
    type: str
    frame_level: str
    framed_text: str
    extra: dict[str, str] = field(default_factory=dict)
    started_on: str = "2026-01-01"

    def numbered(self, number: int) -> Habit:
        """The same with another number."""
        return replace(self, id=number)

    def data(self) -> Data:
        """As the tools write it."""
        return {
            "habit_id": self.id,
            "protocol_id": self.item_id,
            "title": self.title,
            "type": self.type,
            "frame_level": self.frame_level,
            "framed_text": self.framed_text,
            **self.extra,
            "started_on": self.started_on,
        }


def row_of(item: Item, locale: str) -> Row:
    """How a search shows an item."""
    return Row(item.id, item.title[locale], item.summary[locale][:60], item.category)


def invented_row(rng: random.Random, locale: str) -> Row:
    """An item of some other catalogue, so that results are read and not recited."""
    slug = "-".join(invented(rng, "en") for _ in range(rng.choice((1, 2, 2))))
    words = [noun(rng, locale, 0.6) for _ in range(rng.choice((1, 2, 2, 3)))]
    summary = framed_text(rng, locale, 0.3) + "."
    title = " ".join(words)
    return Row(slug, title[:1].upper() + title[1:], summary[:60], rng.choice(CATEGORIES))


def search_rows(rng: random.Random, arguments: Data, locale: str, invent: float) -> tuple[list[Row], int]:
    """Rows and total count of a search; often exactly the catalogue's, sometimes of another catalogue."""
    limit = arguments.get("limit", 10)
    if rng.random() < invent:
        total = rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6))
        return [invented_row(rng, locale) for _ in range(min(total, limit))], total
    found = list(catalogue())
    if category := arguments.get("category"):
        found = [item for item in found if item.category == category]
    if keyword := arguments.get("keyword"):
        needle = keyword.lower()
        found = [
            item
            for item in found
            if any(
                needle in text.lower()
                for language in ("ko", "en")
                for text in (item.title[language], item.summary[language], *item.keywords[language])
            )
        ]
        rng.shuffle(found)
    elif not category:
        rng.shuffle(found)
    return [row_of(item, locale) for item in found[:limit]], len(found)


def search_envelope(rows: list[Row], total: int) -> str:
    """The envelope of a search."""
    return ok({"count": total, "items": [row.data() for row in rows]}, "search_catalog")


def record_envelope(item: Item, locale: str) -> str:
    """The envelope of a full record."""
    return ok(
        {
            "id": item.id,
            "kind": item.kind,
            "type": item.habit_type,
            "category": item.category,
            "title": item.title[locale],
            "summary": item.summary[locale],
            "why": item.why[locale],
            "steps": item.steps[locale],
            "dose": {"standard": item.standard[locale], "minimum": item.minimum[locale]},
            "anchor": item.anchor[locale],
            "keywords": item.keywords[locale],
        }
    )


def framed_text(rng: random.Random, language: str, novelty: float) -> str:
    """A sentence that a person may give a habit."""
    return _fill(rng, FRAMED[language], language, novelty)


def note(rng: random.Random, language: str, novelty: float) -> str:
    """A short note on a day."""
    return _fill(rng, NOTES[language], language, novelty)


def anchor_when(rng: random.Random, language: str) -> str:
    """A time or moment."""
    return _fill(rng, ANCHORS_WHEN[language], language, 0.1)


def anchor_after(rng: random.Random, language: str, novelty: float) -> str:
    """What a habit follows."""
    return _fill(rng, ANCHORS_AFTER[language], language, novelty)


def dose(rng: random.Random, language: str) -> str:
    """An amount with its unit."""
    return _fill(rng, DOSES[language], language, 0.0)


def _fill(rng: random.Random, templates: list[str], language: str, novelty: float) -> str:
    template = rng.choice(templates)
    if template in DOSES[language]:
        number = str(rng.choice((2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 45, 50, 60, 100, rng.randint(2, 99))))
        return template.replace("{n}", number)
    return say(
        rng,
        template,
        n=noun(rng, language, novelty),
        m=noun(rng, language, novelty)
        if template not in ANCHORS_WHEN[language]
        else rng.choice(("05", "10", "15", "20", "30", "40", "45", "50")),
        a=rng.choice(ADJECTIVES[language]),
        h=rng.randint(1, 12),
        t=rng.randint(2, 60),
    )


def date(rng: random.Random) -> str:
    """A calendar date."""
    return f"20{rng.randint(24, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def habits(rng: random.Random, locale: str, number: int, invent: float = 0.2) -> list[Habit]:
    """Active habits with distinct numbers and titles."""
    ids = sorted(rng.sample(range(1, 10 if rng.random() < 0.6 else 100), number))
    items = rng.sample(catalogue(), number)
    made = []
    for habit_id, item in zip(ids, items, strict=True):
        row = invented_row(rng, locale) if rng.random() < invent else row_of(item, locale)
        made.append(habit(rng, locale, habit_id, row, item.habit_type))
    return made


def habit(rng: random.Random, locale: str, habit_id: int, row: Row, habit_type: str) -> Habit:
    """An active habit of an item."""
    extra = {}
    if rng.random() < 0.25:
        extra["anchor_when"] = anchor_when(rng, locale)
    if rng.random() < 0.15:
        extra["anchor_after_what"] = anchor_after(rng, locale, 0.1)
    if rng.random() < 0.15:
        extra["dose_text"] = dose(rng, locale)
    text = row.title if rng.random() < 0.6 else framed_text(rng, locale, 0.2)
    if rng.random() < 0.04:
        text = rng.choice(INJECTIONS[locale])
    return Habit(habit_id, row.id, row.title, habit_type, rng.choice(("L2", "L2", "L3")), text, extra, date(rng))


def list_envelope(active: list[Habit]) -> str:
    """The envelope of the active habits."""
    return ok({"count": len(active), "items": [one.data() for one in active]}, "list_active_habits")


def habit_envelope(one: Habit) -> str:
    """The envelope of one habit with all that was said about it."""
    whole = one.data()
    texts = {key: whole.pop(key) for key in _TEXTS if key in whole}
    return ok(whole | texts, "get_habit")


_TEXTS = ("framed_text", "anchor_when", "anchor_after_what", "dose_text")


def entries_envelope(rng: random.Random, language: str, habit_id: int, number: int) -> str:
    """The envelope of recorded days, the newest first."""
    days = sorted({date(rng) for _ in range(number)}, reverse=True)
    items = [_entry(rng, language, day) for day in days]
    whole: Data = {"habit_id": habit_id, "count": len(items), "total": len(items), "items": items}
    if len(items) > 4 and rng.random() < 0.3:
        whole |= {"total": len(items) + rng.randint(1, 40), "next_offset": len(items)}
    return ok(whole, "list_tracker_entries")


def _entry(rng: random.Random, language: str, day: str) -> Data:
    text = note(rng, language, 0.1) if rng.random() < 0.85 else rng.choice(INJECTIONS[language])
    noted = {"note": text} if rng.random() < 0.25 else {}
    return {"date": day, "value": rng.choice(("done", "done", "blank")), **noted}


def ended_envelope(habit_id: int, title: str, day: str) -> str:
    """The envelope of a habit that has ended."""
    return ok({"habit_id": habit_id, "title": title, "ended_on": day})


def streak_envelope(rng: random.Random, habit_id: int, title: str) -> tuple[str, Data]:
    """The envelope of a streak, and its data."""
    longest = rng.choice((0, 1, 2, rng.randint(1, 42), rng.randint(1, 42), rng.randint(1, 120)))
    current = rng.choice((0, longest, rng.randint(0, longest)))
    recent = rng.randint(min(current, 30), 30) if longest else 0
    done = min(42, max(recent, current))
    tier = sum(done >= bound for bound in (7, 14, 28, 42))
    data: Data = {
        "habit_id": habit_id,
        "title": title,
        "current": current,
        "longest": longest,
        "last_30_days": recent,
        "phase": {"done": done, "day": rng.randint(max(1, done), 42), "days": 42},
        "tier": f"T{tier}",
    }
    return ok(data), data


def logged_envelope(habit_id: int, day: str, value: str) -> str:
    """The envelope of a recorded day."""
    return ok({"habit_id": habit_id, "date": day, "value": value})


_UNKNOWN_HABIT = ("not_found", {"ko": "{i}번 습관을 찾을 수 없습니다.", "en": "There is no habit number {i}."})
_NO_ITEM = ("not_found", {"ko": "카탈로그에 그런 항목이 없습니다.", "en": "The catalogue has no such item."})
_FUTURE = ("validation", {"ko": "{d} 날짜는 아직 오지 않았습니다. 오늘은 {e}입니다.", "en": "{d} has not come yet; today is {e}."})
_LONG_NOTE = ("validation", {"ko": "note 값은 200자를 넘을 수 없습니다.", "en": "note may have at most 200 characters."})

# What each tool may refuse. `{i}` is the number of a habit, `{d}` and `{e}` are days, `{w}` is a word.
FAILURES: dict[str, Failures] = {
    "add_habit": [
        ("r3_quota", {"ko": "만들기 습관은 동시에 3개까지만 할 수 있습니다.", "en": "At most 3 build habits can be active at the same time."}),
        ("r3_quota", {"ko": "줄이기 습관은 동시에 1개까지만 할 수 있습니다.", "en": "At most 1 break habit can be active at the same time."}),
        ("r3_frame", {"ko": "습관의 틀은 L2(다가가기)나 L3(정체성)이어야 합니다.", "en": "The frame must be L2 (approach) or L3 (identity)."}),
        ("r7_avoidance", {"ko": "'{w}' 같은 피하는 말 대신 하고 싶은 행동으로 적어 주세요.", "en": "Say what you want to do instead of avoiding something (found '{w}')."}),
        ("validation", {"ko": "framed_text 값은 200자를 넘을 수 없습니다.", "en": "framed_text may have at most 200 characters."}),
        _NO_ITEM,
    ],
    "log_tracker_entry": [
        ("r5_duplicate", {"ko": "{d}에는 이미 완료 기록이 있어서 바꿀 수 없습니다.", "en": "{d} is already recorded as done and cannot be changed."}),
        ("r5_duplicate", {"ko": "{d}에는 이미 빈칸 기록이 있어서 바꿀 수 없습니다.", "en": "{d} is already recorded as blank and cannot be changed."}),
        _FUTURE,
        _LONG_NOTE,
        _UNKNOWN_HABIT,
    ],
    "correct_tracker_entry": [
        ("not_found", {"ko": "{d}에는 고칠 기록이 없습니다.", "en": "There is no record for {d} to correct."}),
        _FUTURE,
        _UNKNOWN_HABIT,
    ],
    "end_habit": [_UNKNOWN_HABIT],
    "get_habit": [_UNKNOWN_HABIT],
    "get_streak": [_UNKNOWN_HABIT],
    "list_tracker_entries": [_UNKNOWN_HABIT],
    "query_protocol": [_NO_ITEM],
}
