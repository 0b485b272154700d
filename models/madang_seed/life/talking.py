"""Turns about habits that need no tool: questions back, and what no tool is for."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..dialogue import Dialogue
from ..grammar import choose
from ..lexicon import NAMES
from . import answers, results
from .adding import add_item
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
    asked = d.ask(templates, **slots)
    d.user(asked)
    d.say(answers.TALK[d.language][kind])
    if kind in _ANSWERED and d.rng.random() < 0.45:
        _ANSWERED[kind](d, asked, int(slots["id"]))


def _add_named(d: Dialogue, _asked: str, _number: int) -> None:
    """The habit that was asked back for, by its title."""
    item = any_item(d)
    title = title_of(d, item)
    d.user(choose(d.rng, [*d.own(d.phrases.ADD), *_BARE[d.language] * 4], t=title, q=d.quoted(title), u=title))
    add_item(d, item.id, item.title[d.language])


def _log_named(d: Dialogue, asked: str, _number: int) -> None:
    """The habit that was asked back for, by its number; whether it was done has been said."""
    habit_id = number_of(d)
    d.user(choose(d.rng, _NUMBER[d.language], id=habit_id))
    record_day(d, habit_id, _value_said(asked))


def _tell_streak_named(d: Dialogue, _asked: str, _number: int) -> None:
    habit_id = number_of(d)
    d.user(choose(d.rng, _NUMBER[d.language], id=habit_id))
    tell_streak(d, habit_id, title_by_number(d, habit_id))


def _end_named(d: Dialogue, _asked: str, _number: int) -> None:
    """The habit that was asked back for, by its number or by its title."""
    if d.rng.random() < 0.5:
        habit_id = number_of(d)
        d.user(choose(d.rng, _NUMBER[d.language], id=habit_id))
        end_known(d, habit_id, title_by_number(d, habit_id))
        return
    habit = named_habit(d, _BARE[d.language])
    if habit is not None:
        end_known(d, habit.id, habit.title)


def _log_dated(d: Dialogue, asked: str, number: int) -> None:
    """The day that was asked back for; the number and whether it was done have been said."""
    day = results.date(d.rng)
    d.user(choose(d.rng, _DAY[d.language], date=written_date(d, day)))
    record_day(d, number, _value_said(asked), date=day)


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


def _value_said(asked: str) -> str:
    """Whether a message says that the habit was left out."""
    asked = _NOT_RECORDED.sub("", asked.lower())
    return "blank" if any(word in asked for word in _LEFT_OUT) else "done"


# What was only not recorded was done.
_NOT_RECORDED = re.compile(
    r"(forgot|missed|failed|didn.?t|did not)( manage)?( to)? (log|record|tick|mark|check|enter|write|put|note|track|add)"
    r"|(기록|체크|표시|적는|입력)\S*( \S+)? ?(깜빡|깜박|까먹|안 ?했|못 ?했|빼먹|잊)"
)


_LEFT_OUT = (
    *("blank", "skip", "miss", "forgot ", "didn", "did not", "fail", "haven", "not do", "couldn", "wasn"),
    *("못", "안 ", "안했", "안함", "빼먹", "빠뜨", "빠졌", "빈칸", "깜빡", "걸렀", "거른", "건너", "놓쳤", "실패", "까먹"),
)
_ANSWERED: dict[str, Callable[[Dialogue, str, int], None]] = {
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
