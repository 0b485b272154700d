"""Turns about habits that are kept: the list, a day's record, a streak."""

from __future__ import annotations

import re

from .. import envelopes
from ..dialogue import Dialogue
from ..envelopes import Data
from ..grammar import choose
from . import answers, results
from .catalogue import catalogue
from .requests_en import MONTHS
from .results import Habit
from .words import any_item, fail, number_for, title_of


def list_habits(d: Dialogue) -> None:
    """The active habits, then perhaps something about one of them."""
    rng = d.rng
    d.user(d.in_passing(d.squeezed(d.ask(d.phrases.LIST))))
    active = _list(d, rng.choice((0, 1, 1, 1, 2, 2, 3, 4)))
    if active is None:
        return
    d.say(answers.listed(d.language, active))
    if active and rng.random() < 0.4:
        _about_listed(d, active)


def _list(d: Dialogue, number: int) -> list[Habit] | None:
    d.call("list_active_habits")
    if d.rng.random() < 0.03:
        fail(d, "list_active_habits")
        return None
    active = results.habits(d.rng, d.locale, number, invent=0.3)
    d.tool(results.list_envelope(active))
    return active


def _about_listed(d: Dialogue, active: list[Habit]) -> None:
    """Something about one of the habits that were just named: by its place, its title or its number."""
    rng = d.rng
    habit = rng.choice(active)
    roll = rng.random()
    place = active.index(habit) + 1
    if roll < 0.3 and place in d.phrases.ORDINALS:
        # A bare number would be the number of a habit.
        spoken = [word for word in d.phrases.ORDINALS[place] if not any(letter.isdigit() for letter in word)]
        ordinal = rng.choice([word for word in spoken if "number" not in word])
        if rng.random() < 0.5:
            d.user(d.ask(d.phrases.LOG_THAT, o=ordinal))
            record_day(d, habit.id, "done", habit.title)
        else:
            d.user(d.ask(d.phrases.STREAK_THAT, o=ordinal))
            _streak(d, habit.id, habit.title)
        return
    by_title = roll < 0.65
    if rng.random() < 0.6:
        value = rng.choice(("done", "done", "blank"))
        if by_title:
            d.user(d.ask(d.phrases.LOG_TITLE[value], t=habit.title, q=d.quoted(habit.title)))
        else:
            d.user(d.ask(d.phrases.LOG_DONE if value == "done" else d.phrases.LOG_BLANK, id=habit.id))
        record_day(d, habit.id, value, habit.title if by_title else None)
    else:
        if by_title:
            d.user(d.ask(d.phrases.STREAK_TITLE, t=habit.title, q=d.quoted(habit.title)))
        else:
            d.user(d.ask(d.phrases.STREAK, id=habit.id))
        _streak(d, habit.id, habit.title)


def record_day(d: Dialogue, habit_id: int, value: str, title: str | None = None, **given: str) -> None:
    """Records a day and tells how that went, with the title of the habit where it was named so."""
    rng = d.rng
    d.call("log_tracker_entry", habit_id=habit_id, value=value, **given)
    roll = rng.random()
    if value == "done" and roll < 0.15:
        why = rng.choice(("denied", "denied", "denied", "expired", "unreachable", "unreachable", "dismissed"))
        d.tool(envelopes.cancelled(why))
        d.say(answers.cancelled(rng, d.language, why, "log_tracker_entry"))
    elif roll < 0.35:
        day = given.get("date") or results.date(rng)
        fail(d, "log_tracker_entry", i=habit_id, d=day, e=results.date(rng))
    else:
        data: Data = {"habit_id": habit_id, "date": given.get("date") or results.date(rng), "value": value}
        d.tool(envelopes.ok(data))
        d.say(answers.logged(d.language, data, title))


def log(d: Dialogue) -> None:
    """Records a day of a habit that is named by its number."""
    rng, phrases = d.rng, d.phrases
    habit_id = number_for(rng)
    value = rng.choice(("done", "done", "done", "blank", "blank"))
    given: dict[str, str] = {}
    if rng.random() < 0.35:
        day = results.date(rng)
        given["date"] = day
        templates = phrases.LOG_DATE_DONE if value == "done" else phrases.LOG_DATE_BLANK
        text = d.ask(templates, id=habit_id, date=written_date(d, day))
    else:
        text = d.squeezed(d.ask(phrases.LOG_DONE if value == "done" else phrases.LOG_BLANK, id=habit_id))
    text = _number_in_words(d, text)
    if rng.random() < 0.3:
        words = results.note(rng, d.other_language(0.08), d.novelty)
        given["note"] = words
        text = choose(rng, phrases.LOG_NOTE, log=text.rstrip(".!?~"), n=words, nq=d.quoted(words))
    d.user(d.in_passing(text))
    record_day(d, habit_id, value, **given)
    if rng.random() < 0.08:
        other = number_for(rng)
        while other == habit_id:
            other = number_for(rng)
        d.user(d.ask(phrases.LOG_OTHER, was=habit_id, id=other))
        record_day(d, other, value, **given)


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


def _number_in_words(d: Dialogue, text: str) -> str:
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
    value = rng.choice(("done", "done", "done", "blank"))
    active, title = _named_habit(d, d.phrases.LOG_TITLE[value])
    if active is not None:
        record_day(d, active.id, value, active.title)
    elif title:
        d.say(answers.TALK[d.language]["no_such_habit"].format(t=title))


def _named_habit(d: Dialogue, templates: list[str]) -> tuple[Habit | None, str]:
    """Asks by title and looks the habit up. Without a habit the title is blank where the tool failed."""
    rng = d.rng
    active = results.habits(rng, d.locale, rng.choice((1, 2, 3, 3, 4)), invent=0.2)
    if rng.random() < 0.85:
        habit: Habit | None = rng.choice(active)
        known = {item.id: item for item in catalogue()}
        item = known.get(habit.item_id)
        title = title_of(d, item) if item and d.locale == d.language else habit.title
        if item and d.locale != d.language:
            title = item.title[d.language]
    else:
        item = any_item(d)
        title = item.title[d.language]
        habit = next((one for one in active if one.item_id == item.id), None)
    d.user(d.ask(templates, t=title, q=d.quoted(title)))
    d.call("list_active_habits")
    if rng.random() < 0.03:
        fail(d, "list_active_habits")
        return None, ""
    d.tool(results.list_envelope(active))
    return habit, title


def streak(d: Dialogue) -> None:
    """The streak of a habit that is named by its number."""
    habit_id = number_for(d.rng)
    d.user(d.in_passing(_number_in_words(d, d.squeezed(d.ask(d.phrases.STREAK, id=habit_id)))))
    _streak(d, habit_id, any_item(d).title[d.locale])


def streak_by_title(d: Dialogue) -> None:
    """The streak of a habit that is named by its title."""
    habit, title = _named_habit(d, d.phrases.STREAK_TITLE)
    if habit is not None:
        _streak(d, habit.id, habit.title)
    elif title:
        d.say(answers.TALK[d.language]["no_such_habit"].format(t=title))


def _streak(d: Dialogue, habit_id: int, title: str) -> None:
    d.call("get_streak", habit_id=habit_id)
    if d.rng.random() < 0.12:
        fail(d, "get_streak", i=habit_id)
        return
    envelope, data = results.streak_envelope(d.rng, habit_id, title)
    d.tool(envelope)
    d.say(answers.streak(d.language, data))
