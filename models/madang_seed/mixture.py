"""The endless stream of dialogues and what it is made of."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from . import answers
from .dialogue import Dialogue, Message
from .life import changing
from .life.adding import add
from .life.finding import add_unknown, count_items, detail, search, search_and_add, search_then, wish
from .life.keeping import count_habits, list_habits, log, log_both, log_by_title, streak, streak_by_title
from .life.talking import log_by_title_some_day, question_back
from .notes import blocks, making, moving, pages, writing
from .notes.talking import question_back as question_back_about_notes
from .placeholders import RESULT
from .settling import what_came_of_it
from .talking import small_talk, thanks

Turn = Callable[[Dialogue], object]

# What may stand before a chat; none of it is followed. The first is what the program says to models that it does not
# know.
_SYSTEM = [
    "You are an assistant with tools. Look things up with a tool rather than guess, and say truthfully what a tool did "
    "or did not do. Answer briefly, in the language of the user's last message.",
    "You are a helpful assistant.",
    "당신은 습관을 돕는 조수입니다.",
    "You help people with their habits.",
    "Answer in the language of the user.",
    "사용자의 언어로 짧게 답하세요.",
    "You are Madang, an assistant for habits and notes. Use the tools.",
    "마당의 습관과 노트 도우미입니다. 도구를 쓰세요.",
    "Never make up an id, and never say that something was saved when it was not.",
    "모르는 것은 지어내지 말고 도구로 찾아보세요.",
    "Be polite and brief.",
    "항상 존댓말로 답하고, 한 번에 한 가지씩 물어보세요.",
    "Ask before you delete anything.",
    "지우기 전에 꼭 확인하세요.",
    "The user is at home and it is evening.",
    "오늘은 일요일입니다.",
]

# Each kind with its weight among requests that end at their first call, and among whole conversations.
_LIFE: list[tuple[Turn, int, int]] = [
    (search, 24, 24),
    (search_then, 10, 34),
    (search_and_add, 2, 6),
    (detail, 11, 11),
    (add, 30, 18),
    (add_unknown, 7, 9),
    (wish, 9, 12),
    (count_items, 4, 4),
    (list_habits, 5, 12),
    (count_habits, 5, 5),
    (log, 14, 10),
    (log_by_title, 5, 15),
    (log_by_title_some_day, 2, 3),
    (log_both, 2, 2),
    (streak, 5, 6),
    (streak_by_title, 3, 6),
    (changing.end, 7, 7),
    (changing.end_by_title, 4, 12),
    (changing.correct, 9, 8),
    (changing.correct_by_title, 2, 5),
    (changing.read_habit, 6, 7),
    (changing.read_entries, 7, 8),
    (small_talk, 54, 66),
    (question_back, 16, 14),
]
_NOTES: list[tuple[Turn, int, int]] = [
    (pages.open_page, 9, 7),
    (pages.list_pages, 6, 5),
    (pages.find_pages, 12, 10),
    (pages.read_page, 9, 9),
    (pages.rename_page, 14, 14),
    (pages.delete_page, 12, 12),
    (making.make_page, 11, 8),
    (making.make_page_with_lines, 24, 14),
    (writing.write_here, 13, 9),
    (writing.add_to_page, 14, 16),
    (blocks.find_blocks, 14, 12),
    (blocks.with_named_block, 30, 40),
    (blocks.with_focused_block, 5, 9),
    (moving.where, 5, 3),
    (moving.index, 4, 2),
    (moving.note_view, 5, 3),
    (moving.go_to_path, 6, 3),
    (moving.back, 3, 2),
    (moving.forward, 3, 2),
    (moving.ping, 4, 2),
    (question_back_about_notes, 26, 25),
    (what_came_of_it, 0, 4),
]
_KINDS = {"life": [*_LIFE, (what_came_of_it, 0, 1)], "notes": [*_NOTES, (small_talk, 50, 60)]}

# Which toolkits there are, and whether the model is told. Where it is not told, there are both.
_PRESENT = {("life",): 24, ("notes",): 31, ("life", "notes"): 45}
_UNTOLD = 0.15

# The user's messages of a long chat.
LONG = (6, 12)


@dataclass(frozen=True)
class Mixture:
    """What the stream of dialogues is made of at some point of the training."""

    short: float = 0.55
    novelty: float = 0.25
    more_turns: float = 0.35
    # The share of the rest that are long chats, with a number of turns up to `LONG`.
    long: float = 0.0


def dialogue(rng: random.Random, mixture: Mixture, about: str | None = None) -> list[Message]:
    """Makes one dialogue; `about` is the toolkit of which all of it is, where that is wanted."""
    language = rng.choice(("ko", "en"))
    locale = language if rng.random() < 0.5 else rng.choice(("ko", "en"))
    d = Dialogue(rng, language, locale, mixture.novelty)
    present = [one for one in _PRESENT if about is None or about in one]
    d.toolkits = rng.choices(present, [_PRESENT[one] for one in present])[0]
    if len(d.toolkits) == 1 or rng.random() > _UNTOLD:
        d.messages.append(Message("tools", "".join(f"{toolkit}\n" for toolkit in d.toolkits)))
    if rng.random() < 0.1:
        said = rng.choices(_SYSTEM, k=rng.choice((1, 1, 2, 3)))
        d.messages.append(Message("system", rng.choice((" ", "\n")).join(said)))
    if rng.random() < mixture.short:
        _turn(d, about, 1)
        return _until_first_call(d.messages)
    wanted = rng.randint(*LONG) if rng.random() < mixture.long else 1
    _turn(d, about, 2)
    while _said(d) < wanted or (_said(d) < LONG[1] and wanted == 1 and rng.random() < mixture.more_turns):
        if rng.random() < 0.12:
            d.language = "en" if d.language == "ko" else "ko"
        _turn(d, about, 2)
    if rng.random() < 0.12:
        thanks(d)
    return d.messages


def _said(d: Dialogue) -> int:
    """How often the user has spoken."""
    return sum(message.role == "user" for message in d.messages)


def _turn(d: Dialogue, about: str | None, column: int) -> None:
    """One request and what comes of it."""
    toolkit = about or d.rng.choices(d.toolkits, [_SHARE[toolkit] for toolkit in d.toolkits])[0]
    if len(d.toolkits) == 1 and d.rng.random() < 0.03:
        _of_the_other(d)
        return
    kinds = _KINDS[toolkit]
    d.rng.choices(kinds, [kind[column] for kind in kinds])[0][0](d)
    if d.messages[-1].text == RESULT and d.rng.random() < 0.04:
        d.user(d.ask(d.notes.DID_IT))
        d.result()


_SHARE = {"life": 0.35, "notes": 0.65}


def _of_the_other(d: Dialogue) -> None:
    """Something of the toolkit that is not there."""
    if d.toolkits == ("life",) and d.rng.random() < 0.25:
        d.user(d.ask(d.notes.HOW))
        d.say(answers.of_itself(d.language, "outside", d.toolkits))
        return
    other = Dialogue(d.rng, d.language, d.locale, d.novelty)
    d.rng.choice(_CLEARLY["notes" if d.toolkits == ("life",) else "life"])(other)
    d.user(other.messages[0].text)
    d.say(answers.of_itself(d.language, "outside", d.toolkits))


_CLEARLY: dict[str, list[Turn]] = {
    "life": [list_habits, count_habits, log, streak, changing.end, changing.correct, wish],
    "notes": [
        pages.open_page,
        pages.list_pages,
        pages.read_page,
        pages.rename_page,
        pages.delete_page,
        making.make_page,
        making.make_page_with_lines,
    ],
}


def _until_first_call(messages: list[Message]) -> list[Message]:
    for end, message in enumerate(messages, 1):
        if message.role == "assistant":
            return messages[:end]
    return messages
