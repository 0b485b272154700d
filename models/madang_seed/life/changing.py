"""Turns that end a habit, correct a recorded day, or read a habit and its days."""

from __future__ import annotations

from ..dialogue import Dialogue
from ..failing import not_allowed
from ..grammar import choose
from . import results
from .keeping import list_active, named_habit, number_in_words, number_of, record_day, spoken_place, title_by_number, written_date
from .results import Habit
from .words import fail


def end(d: Dialogue) -> None:
    """Ends a habit that is named by its number."""
    habit_id = number_of(d)
    d.user(d.in_passing(number_in_words(d, d.squeezed(d.ask(d.phrases.END, id=habit_id)))))
    end_known(d, habit_id, title_by_number(d, habit_id))


def end_by_title(d: Dialogue) -> None:
    """Ends a habit that is named by its title, or by its place in a list."""
    if d.rng.random() < 0.75:
        habit = named_habit(d, d.phrases.END_TITLE)
        if habit is not None:
            end_known(d, habit.id, habit.title)
        return
    d.user(d.in_passing(d.ask(d.phrases.LIST)))
    active = list_active(d, d.rng.choice((2, 3, 4)))
    if active is None:
        return
    d.result()
    if not active:
        return
    habit = d.rng.choice(active)
    d.user(d.ask(d.phrases.END_THAT, o=_called(d, active, habit)))
    end_known(d, habit.id, habit.title)
    if len(active) > 1 and d.rng.random() < 0.15:
        other = d.rng.choice([one for one in active if one is not habit])
        d.user(d.ask(d.phrases.NO_OTHER[:1], o=_called(d, active, other), t=other.title))
        end_known(d, other.id, other.title)


def _called(d: Dialogue, active: list[Habit], habit: Habit) -> str:
    return spoken_place(d, active, habit) or habit.title


def end_known(d: Dialogue, habit_id: int, title: str) -> None:
    """Ends a habit whose number is known."""
    rng = d.rng
    d.call("end_habit", habit_id=habit_id)
    roll = rng.random()
    if roll < 0.2:
        not_allowed(d, results.note(rng, d.language, 0.1) if rng.random() < 0.2 else None)
    elif roll < 0.32:
        fail(d, "end_habit", i=habit_id)
    else:
        d.tool(results.ended_envelope(habit_id, title, results.date(rng)))
        d.result()
        if d.habits is not None:
            d.habits = [one for one in d.habits if one.id != habit_id]


def correct(d: Dialogue) -> None:
    """Corrects a day of a habit that is named by its number."""
    rng, phrases = d.rng, d.phrases
    habit_id, value = number_of(d), rng.choice(("done", "blank"))
    given: dict[str, str] = {}
    if rng.random() < 0.45:
        given["date"] = results.date(rng)
        templates = phrases.CORRECT_DATE_DONE if value == "done" else phrases.CORRECT_DATE_BLANK
        text = d.ask(templates, id=habit_id, date=written_date(d, given["date"]))
    else:
        text = d.squeezed(d.ask(phrases.CORRECT_DONE if value == "done" else phrases.CORRECT_BLANK, id=habit_id))
    text = number_in_words(d, text)
    if rng.random() < 0.15:
        given["note"] = results.note(rng, d.language, d.novelty)
        text = choose(rng, phrases.CORRECT_NOTE, log=text.rstrip(".!?~"), nq=d.quoted(given["note"]))
    d.user(d.in_passing(text))
    record_day(d, habit_id, value, "correct_tracker_entry", **given)


def correct_by_title(d: Dialogue) -> None:
    """Corrects today of a habit that is named by its title."""
    value = d.rng.choice(("done", "blank"))
    habit = named_habit(d, d.phrases.CORRECT_TITLE[value])
    if habit is not None:
        record_day(d, habit.id, value, "correct_tracker_entry")


def read_habit(d: Dialogue) -> None:
    """What was said about a habit of one's own."""
    rng = d.rng
    if rng.random() < 0.65:
        habit_id = number_of(d)
        d.user(d.in_passing(number_in_words(d, d.squeezed(d.ask(d.phrases.HABIT, id=habit_id)))))
        known = [one for one in d.habits or [] if one.id == habit_id]
        habit = (known or results.habits(rng, d.locale, 1))[0]
    else:
        named = named_habit(d, d.phrases.HABIT_TITLE)
        if named is None:
            return
        habit, habit_id = named, named.id
    d.call("get_habit", habit_id=habit_id)
    if rng.random() < 0.12:
        fail(d, "get_habit", i=habit_id)
        return
    d.tool(results.habit_envelope(habit.numbered(habit_id)))
    d.result()


def read_entries(d: Dialogue) -> None:
    """The recorded days of a habit, or how many there are."""
    rng = d.rng
    counted = rng.random() < 0.25
    if counted or rng.random() < 0.6:
        habit_id = number_of(d)
        templates = d.phrases.COUNT_DAYS if counted else d.phrases.ENTRIES
        d.user(d.in_passing(number_in_words(d, d.squeezed(d.ask(templates, id=habit_id)))))
    else:
        named = named_habit(d, d.phrases.ENTRIES_TITLE)
        if named is None:
            return
        habit_id = named.id
    d.call("list_tracker_entries", habit_id=habit_id)
    if rng.random() < 0.1:
        fail(d, "list_tracker_entries", i=habit_id)
        return
    d.tool(results.entries_envelope(rng, d.locale, habit_id, rng.choice((0, 1, 2, 3, 5, 8))))
    if counted:
        d.count()
    else:
        d.result()
