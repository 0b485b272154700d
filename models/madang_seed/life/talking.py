"""Turns about habits that need no tool: questions back, and what no tool is for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..dialogue import Dialogue
from ..grammar import choose
from ..lexicon import NAMES
from . import answers, results
from .adding import add_item
from .catalogue import catalogue
from .changing import end_known
from .keeping import (
    active_habits,
    list_active,
    named_habit,
    number_of,
    record_day,
    tell_streak,
    title_by_number,
    written_date,
)
from .requests_en import MONTHS
from .words import any_item, title_of

_KINDS = {"unlearnt": 5, "which_add": 3, "which_log": 3, "which_streak": 3, "which_end": 2, "which_date": 4}


def question_back(d: Dialogue) -> None:
    """Something that is missing, or that cannot be done."""
    rng, phrases = d.rng, d.phrases
    kind = rng.choices(list(_KINDS), list(_KINDS.values()))[0]
    templates = {
        "unlearnt": phrases.UNLEARNT,
        "which_add": phrases.ADD_NOTHING,
        "which_log": phrases.LOG_NOTHING,
        "which_streak": phrases.STREAK_NOTHING,
        "which_end": phrases.WHICH_END,
        "which_date": phrases.LOG_WHEN,
    }[kind]
    slots = {
        "id": number_of(d),
        "t": title_of(d, any_item(d)),
        "name": rng.choice(NAMES[d.language]),
        "x": rng.randint(1, 99),
        "nq": d.quoted(results.note(rng, d.language, 0.2)),
        "date": written_date(d, results.date(rng)),
        "mo": rng.randint(1, 12),
        "da": rng.randint(1, 28),
        "month": rng.choice(MONTHS),
        "weekday": rng.choice(phrases.WEEKDAYS),
    }
    template = rng.choice(templates)
    value = rng.choice(("done", "blank"))
    chosen = template.replace("[<done>|<blank>]", f"<{value}>")
    asked = d.ask([chosen], **slots)
    d.user(asked)
    d.say(answers.TALK[d.language][kind])
    if kind in _ANSWERED and rng.random() < 0.5:
        _ANSWERED[kind](d, Asked(chosen, asked, int(slots["id"])))


@dataclass(frozen=True)
class Asked:
    """A request that lacks something: its template, its words, and the number of a habit for it."""

    template: str
    text: str
    number: int

    @property
    def value(self) -> str | None:
        """Whether it says that the habit was done or left out, if that is clear."""
        marks = {one for mark, one in _MARKS.items() if mark in self.template}
        if not marks:
            text = self.text.lower()
            marks = {one for one, words in _VALUES.items() if words.search(text)}
        return marks.pop() if len(marks) == 1 else None

    @property
    def is_bare(self) -> bool:
        """Whether it says nothing of a date or a note, which the call would have to have."""
        return not any(slot in self.template for slot in ("{date}", "{nq}", "{n}"))

    @property
    def has_number(self) -> bool:
        """Whether it names the habit by its number."""
        return "<hab>" in self.template or "{id}" in self.template


_MARKS = {"<done>": "done", "<blank>": "blank", "<missed>": "blank"}
# English only: in Korean the macros tell.
_VALUES = {
    "done": re.compile(r"\b(done|finished|completed|managed)\b|\bi did\b(?! not)"),
    "blank": re.compile(r"\b(skip|skipped|miss|missed|blank|haven.?t|not done|forgot|couldn.?t)\b|\bdid( not|n.?t)\b|\bno "),
}


def _add_named(d: Dialogue, _asked: Asked) -> None:
    """The habit that was asked back for, by its title."""
    item, other = d.rng.sample(catalogue(), 2)
    title, not_that = title_of(d, item), title_of(d, other)
    d.user(choose(d.rng, [*d.own(d.phrases.ADD), *_BARE[d.language] * 4], t=title, q=d.quoted(title), u=not_that))
    add_item(d, item.id, item.title[d.language])


def _log_named(d: Dialogue, asked: Asked) -> None:
    """The habit that was asked back for, by its number; whether it was done has been said."""
    if asked.value is None or not asked.is_bare:
        return
    habit_id = number_of(d)
    d.user(choose(d.rng, _NUMBER[d.language], id=habit_id))
    record_day(d, habit_id, asked.value)


def _tell_streak_named(d: Dialogue, _asked: Asked) -> None:
    habit_id = number_of(d)
    d.user(choose(d.rng, _NUMBER[d.language], id=habit_id))
    tell_streak(d, habit_id, title_by_number(d, habit_id))


def _end_named(d: Dialogue, _asked: Asked) -> None:
    """The habit that was asked back for, by its number or by its title."""
    if d.rng.random() < 0.5:
        habit_id = number_of(d)
        d.user(choose(d.rng, _NUMBER[d.language], id=habit_id))
        end_known(d, habit_id, title_by_number(d, habit_id))
        return
    habit = named_habit(d, _BARE[d.language])
    if habit is not None:
        end_known(d, habit.id, habit.title)


def _log_dated(d: Dialogue, asked: Asked) -> None:
    """The day that was asked back for; the number and whether it was done have been said."""
    if asked.value is None or not asked.is_bare or not asked.has_number:
        return
    day = results.date(d.rng)
    d.user(choose(d.rng, _DAY[d.language], date=written_date(d, day)))
    record_day(d, asked.number, asked.value, date=day)


def log_by_title_some_day(d: Dialogue) -> None:
    """A habit that is named by its title was done on a day that has no date, which is asked back for."""
    active = active_habits(d, d.rng.choice((1, 2, 3, 4, 5)))
    if not active:
        return
    habit = d.rng.choice(active)
    value = d.rng.choice(("done", "blank"))
    d.user(d.ask(d.phrases.LOG_TITLE_WHEN[value], t=habit.title, q=d.quoted(habit.title)))
    d.say(answers.TALK[d.language]["which_date"])
    day = results.date(d.rng)
    d.user(choose(d.rng, _DAY[d.language], date=written_date(d, day)))
    if list_active(d, 0) is not None:
        record_day(d, habit.id, value, date=day)


_ANSWERED: dict[str, Callable[[Dialogue, Asked], None]] = {
    "which_add": _add_named,
    "which_log": _log_named,
    "which_streak": _tell_streak_named,
    "which_end": _end_named,
    "which_date": _log_dated,
}
_BARE = {
    "ko": ["{t}", "{t}[요|.|이요]", "{q}", "{t} 습관", "{t} [그거|거]"],
    "en": ["{t}", "{t}[.| please|]", "{q}", "the {t} one", "the {t} habit"],
}
_NUMBER = {
    "ko": ["{id}번", "{id}번[요|이요|이야|.|!]", "{id}", "{id}번 습관", "{id}번 거", "습관 {id}번"],
    "en": ["{id}", "number {id}", "habit {id}", "#{id}", "{id}[.| please|]", "the one with number {id}", "no. {id}"],
}
_DAY = {
    "ko": ["{date}", "{date}[.|요|이요|이야|에]", "{date}[ 거|자|]로 [해줘|기록해줘]", "[음 |아 |]{date}", "{date} 기록해줘"],
    "en": ["{date}", "{date}[.| please|]", "[on |it was |that was ]{date}", "[ok |sorry, ]{date}", "for {date}"],
}
