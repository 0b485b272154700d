"""Turns about habits that are kept: the list, a day's record, a streak."""

from __future__ import annotations

import random
import re

from .. import envelopes
from ..dialogue import Dialogue
from ..envelopes import Data
from ..failing import not_allowed
from ..grammar import choose
from . import results
from .catalogue import catalogue
from .requests_en import MONTHS
from .results import Habit
from .words import any_item, fail, number_for, title_of


def list_habits(d: Dialogue) -> None:
    """The active habits, then perhaps something about one of them."""
    rng = d.rng
    d.user(d.in_passing(d.squeezed(d.ask(d.phrases.LIST))))
    active = list_active(d, rng.choice((0, 1, 1, 1, 2, 2, 3, 4, 6)))
    if active is None:
        return
    d.result()
    if active and rng.random() < 0.4:
        _about_listed(d, active)


def count_habits(d: Dialogue) -> None:
    """How many habits are active."""
    d.user(d.in_passing(d.squeezed(d.ask(d.phrases.COUNT_HABITS))))
    if list_active(d, d.rng.choice((0, 1, 2, 3, 4))) is not None:
        d.count()


def list_active(d: Dialogue, number: int) -> list[Habit] | None:
    """Lists the habits, so many where none is known yet; nothing where the tool failed, which is answered."""
    active = active_habits(d, number)
    d.call("list_active_habits")
    if d.rng.random() < 0.03:
        fail(d, "list_active_habits")
        return None
    d.tool(results.list_envelope(active))
    return active


def active_habits(d: Dialogue, number: int) -> list[Habit]:
    """The active habits in their order: those of this chat, or so many new ones."""
    if d.habits is None:
        d.habits = results.habits(d.rng, d.locale, number)
    return sorted(d.habits, key=lambda habit: habit.id)


def number_of(d: Dialogue) -> int:
    """The number of a habit, mostly of one that was listed or added."""
    if d.habits and d.rng.random() < 0.7:
        return d.rng.choice(d.habits).id
    return number_for(d.rng)


def title_by_number(d: Dialogue, habit_id: int) -> str:
    """The title of a habit: the known one, or any."""
    known = (habit.title for habit in d.habits or [] if habit.id == habit_id)
    return next(known, None) or any_item(d).title[d.locale]


def spoken_place(d: Dialogue, active: list[Habit], habit: Habit) -> str | None:
    """A word for the place of a habit in a list; a bare number would be the number of a habit."""
    words = d.phrases.ORDINALS.get(active.index(habit) + 1, [])
    spoken = [word for word in words if not any(letter.isdigit() for letter in word) and "number" not in word]
    return d.rng.choice(spoken) if spoken else None


def _about_listed(d: Dialogue, active: list[Habit]) -> None:
    """Something about one of the habits that were just named: by its place, its title or its number."""
    rng = d.rng
    habit = rng.choice(active)
    roll = rng.random()
    place = spoken_place(d, active, habit)
    if roll < 0.3 and place:
        value = rng.choice(("done", "done", "blank"))
        if rng.random() < 0.6:
            d.user(d.ask(d.phrases.LOG_THAT if value == "done" else d.phrases.LOG_THAT_BLANK, o=place))
            record_day(d, habit.id, value)
        else:
            d.user(d.ask(d.phrases.STREAK_THAT, o=place))
            tell_streak(d, habit.id, habit.title)
        return
    by_title = roll < 0.65
    if rng.random() < 0.6:
        value = rng.choice(("done", "done", "blank"))
        if by_title:
            d.user(d.ask(d.phrases.LOG_TITLE[value], t=habit.title, q=d.quoted(habit.title)))
        else:
            d.user(d.ask(d.phrases.LOG_DONE if value == "done" else d.phrases.LOG_BLANK, id=habit.id))
        record_day(d, habit.id, value)
    else:
        if by_title:
            d.user(d.ask(d.phrases.STREAK_TITLE, t=habit.title, q=d.quoted(habit.title)))
        else:
            d.user(d.ask(d.phrases.STREAK, id=habit.id))
        tell_streak(d, habit.id, habit.title)


def record_day(d: Dialogue, habit_id: int, value: str, tool: str = "log_tracker_entry", **given: str) -> bool:
    """Records or corrects a day, and tells whether that went well."""
    rng = d.rng
    d.call(tool, habit_id=habit_id, value=value, **given)
    roll = rng.random()
    if value == "done" and roll < 0.15:
        not_allowed(d, results.note(rng, d.language, 0.1) if rng.random() < 0.15 else None)
        return False
    if roll < 0.32:
        day = given.get("date") or results.date(rng)
        fail(d, tool, i=habit_id, d=day, e=results.date(rng))
        return False
    data: Data = {"habit_id": habit_id, "date": given.get("date") or results.date(rng), "value": value}
    d.tool(envelopes.ok(data))
    d.result()
    return True


def log(d: Dialogue) -> None:
    """Records a day of a habit that is named by its number."""
    rng, phrases = d.rng, d.phrases
    habit_id = number_of(d)
    value = rng.choice(("done", "done", "done", "blank", "blank"))
    given: dict[str, str] = {}
    if rng.random() < 0.35:
        day = results.date(rng)
        given["date"] = day
        templates = phrases.LOG_DATE_DONE if value == "done" else phrases.LOG_DATE_BLANK
        text = d.ask(templates, id=habit_id, date=written_date(d, day))
    else:
        text = d.squeezed(d.ask(phrases.LOG_DONE if value == "done" else phrases.LOG_BLANK, id=habit_id))
    text = number_in_words(d, text)
    if rng.random() < 0.3:
        words = results.note(rng, d.other_language(0.08), d.novelty)
        given["note"] = words
        text = choose(rng, phrases.LOG_NOTE, log=text.rstrip(".!?~"), n=words, nq=d.quoted(words))
    d.user(d.in_passing(text))
    recorded = record_day(d, habit_id, value, **given)
    follow = rng.random()
    if follow < 0.08:
        other = number_for(rng)
        while other == habit_id:
            other = number_for(rng)
        d.user(d.ask(phrases.LOG_OTHER, was=habit_id, id=other))
        record_day(d, other, value, **given)
    elif follow < 0.2 and recorded:
        just_wrong(d, habit_id, value, given.get("date"))


def just_wrong(d: Dialogue, habit_id: int, value: str, day: str | None) -> None:
    """No: the day that has just been recorded was the other value."""
    other = "blank" if value == "done" else "done"
    d.user(d.ask(d.phrases.JUST_WRONG[other]))
    record_day(d, habit_id, other, "correct_tracker_entry", **({"date": day} if day else {}))


def written_date(d: Dialogue, day: str) -> str:
    """A date as people write it, mostly as the tool wants it."""
    if d.rng.random() < 0.6:
        return day
    year, month, dom = (int(part) for part in day.split("-"))
    if d.rng.random() < 0.25:
        return d.rng.choice((f"{year}/{month:02}/{dom:02}", f"{year}.{month:02}.{dom:02}", f"{year}/{month}/{dom}"))
    if d.language == "ko":
        return d.rng.choice((f"{year}년 {month}월 {dom}일", f"{year}년 {month}월 {dom}일", f"{year}. {month}. {dom}."))
    name = MONTHS[month - 1]
    return d.rng.choice((f"{name} {dom}, {year}", f"{name} {dom} {year}", f"{dom} {name} {year}"))


def number_in_words(d: Dialogue, text: str) -> str:
    """Now and then writes the number of a habit as a word."""
    if d.rng.random() > 0.12:
        return text
    if d.language == "ko":
        return re.sub(r"(?<!\d)([1-9])번째 습관", lambda found: f"{d.phrases.COUNTED[int(found[1])]} 번째 습관", text)
    return re.sub(
        r"\b((?:habit|number) )([1-9])\b(?!-)", lambda found: found[1] + d.phrases.COUNTED[int(found[2])], text
    )


def log_by_title(d: Dialogue) -> None:
    """Records a day of a habit that is named by its title: the list comes first."""
    rng = d.rng
    value = rng.choice(("done", "done", "blank"))
    if rng.random() < 0.15:
        day = results.date(rng)
        habit = named_habit(d, d.phrases.LOG_TITLE_DATE[value], date=written_date(d, day))
        if habit is not None:
            record_day(d, habit.id, value, date=day)
        return
    habit = named_habit(d, d.phrases.LOG_TITLE[value])
    if habit is not None and record_day(d, habit.id, value) and rng.random() < 0.1:
        just_wrong(d, habit.id, value, None)


def log_both(d: Dialogue) -> None:
    """Records today of two habits that are named by their numbers."""
    value = d.rng.choice(("done", "done", "blank"))
    one, other = number_of(d), number_for(d.rng)
    while other == one:
        other = number_for(d.rng)
    d.user(d.in_passing(d.ask(d.phrases.LOG_BOTH[value], id=one, other=other)))
    for habit_id in (one, other):
        d.call("log_tracker_entry", habit_id=habit_id, value=value)
        if habit_id == other and d.rng.random() < 0.12:
            fail(d, "log_tracker_entry", i=habit_id, d=results.date(d.rng), e=results.date(d.rng))
            return
        d.tool(envelopes.ok({"habit_id": habit_id, "date": results.date(d.rng), "value": value}))
    d.result()


def named_habit(d: Dialogue, templates: list[str], **slots: object) -> Habit | None:
    """Asks by title, or by a part of it, and looks the habit up.

    Where none fits or the tool fails, that is answered, and there is no habit. Where several fit the user is asked.
    """
    rng = d.rng
    active = active_habits(d, rng.choice((1, 2, 3, 3, 4, 4, 5, 6)))
    if not active:
        list_habits(d)
        return None
    habit, said = _meant(d, active)
    d.user(d.in_passing(d.ask(templates, t=said, q=d.quoted(said), **slots)))
    d.call("list_active_habits")
    if rng.random() < 0.03:
        fail(d, "list_active_habits")
        return None
    d.tool(results.list_envelope(active))
    spelt = _spelt(said)
    fitting = [one for one in active if spelt in _spelt(one.title)]
    # A whole title is clear, even if another one has it in it.
    fitting = [one for one in fitting if _spelt(one.title) == spelt][:1] or fitting
    if habit is not None and len(fitting) < 2:
        return fitting[0] if fitting else habit
    if len(fitting) < 2:
        d.result()
        return None
    d.which()
    if rng.random() < 0.3:
        return None
    habit = rng.choice(fitting)
    # The question numbers all that the list has.
    place = spoken_place(d, active, habit)
    d.user(d.ask(d.phrases.PICK_ITEM[:2] if place else ["{t}", "{t}[.|!|]"], o=place or "", t=habit.title))
    return habit


def _spelt(title: str) -> str:
    return title.lower().replace(" ", "")


def _meant(d: Dialogue, active: list[Habit]) -> tuple[Habit | None, str]:
    """The habit that is meant, and how it is called; now and then one that is not there."""
    rng = d.rng
    roll = rng.random()
    if roll > 0.85:
        item = any_item(d)
        return next((one for one in active if one.item_id == item.id), None), item.title[d.language]
    habit = rng.choice(active)
    known = next((item for item in catalogue() if item.id == habit.item_id), None)
    if d.locale == d.language and roll > 0.45:
        return habit, _part(rng, habit.title)
    if known:
        return habit, title_of(d, known) if d.locale == d.language else known.title[d.language]
    return habit, habit.title


def _part(rng: random.Random, title: str) -> str:
    """A word of a title that is enough to tell what is meant, or two in a row."""
    words = title.split()
    telling = [word for word in words if len(word) >= (4 if word.isascii() else 2)]
    if not telling or len(words) < 2:
        return title
    if rng.random() < 0.25:
        begin = rng.randrange(len(words) - 1)
        pair = words[begin : begin + 2]
        if set(pair) & set(telling):
            return " ".join(pair)
    word = rng.choice(telling)
    return word.lower() if rng.random() < 0.5 else word


def streak(d: Dialogue) -> None:
    """The streak of a habit that is named by its number."""
    habit_id = number_of(d)
    d.user(d.in_passing(number_in_words(d, d.squeezed(d.ask(d.phrases.STREAK, id=habit_id)))))
    tell_streak(d, habit_id, title_by_number(d, habit_id))


def streak_by_title(d: Dialogue) -> None:
    """The streak of a habit that is named by its title."""
    habit = named_habit(d, d.phrases.STREAK_TITLE)
    if habit is not None:
        tell_streak(d, habit.id, habit.title)


def tell_streak(d: Dialogue, habit_id: int, title: str) -> None:
    """Asks for a streak and has it told."""
    d.call("get_streak", habit_id=habit_id)
    if d.rng.random() < 0.12:
        fail(d, "get_streak", i=habit_id)
        return
    envelope, _ = results.streak_envelope(d.rng, habit_id, title)
    d.tool(envelope)
    d.result()
