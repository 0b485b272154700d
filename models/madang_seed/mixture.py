"""The endless stream of dialogues and what it is made of."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from .dialogue import Dialogue, Message
from .turns.adding import add
from .turns.finding import add_unknown, detail, search, search_and_add, search_then
from .turns.keeping import list_habits, log, log_by_title, streak, streak_by_title
from .turns.talking import small_talk, thanks

Turn = Callable[[Dialogue], object]

_SYSTEM = [
    "You are a helpful assistant.",
    "당신은 습관을 돕는 조수입니다.",
    "You help people with their habits. Answer in the language of the user.",
    "사용자의 언어로 짧게 답하세요.",
    "You are Madang, an assistant for habits. Use the tools.",
    "마당의 습관 도우미입니다. 도구를 쓰세요.",
]

# Each kind with its weight among requests that end at their first call, and among whole conversations.
_KINDS: list[tuple[Turn, int, int]] = [
    (search, 24, 24),
    (search_then, 10, 34),
    (search_and_add, 2, 4),
    (detail, 11, 11),
    (add, 30, 18),
    (add_unknown, 5, 5),
    (list_habits, 5, 14),
    (log, 14, 10),
    (log_by_title, 4, 10),
    (streak, 5, 6),
    (streak_by_title, 3, 6),
    (small_talk, 33, 13),
]
_TURNS = [kind for kind, _, _ in _KINDS]
_SHORT = [weight for _, weight, _ in _KINDS]
_WHOLE = [weight for _, _, weight in _KINDS]


@dataclass(frozen=True)
class Mixture:
    """What the stream of dialogues is made of at some point of the training."""

    short: float = 0.55
    novelty: float = 0.25
    more_turns: float = 0.35


def dialogue(rng: random.Random, mixture: Mixture) -> list[Message]:
    """Makes one dialogue."""
    language = rng.choice(("ko", "en"))
    locale = language if rng.random() < 0.5 else rng.choice(("ko", "en"))
    d = Dialogue(rng, language, locale, mixture.novelty)
    if rng.random() < 0.06:
        d.messages.append(Message("system", rng.choice(_SYSTEM)))
    if rng.random() < mixture.short:
        rng.choices(_TURNS, _SHORT)[0](d)
        return _until_first_call(d.messages)
    rng.choices(_TURNS, _WHOLE)[0](d)
    while len(d.messages) < 24 and rng.random() < mixture.more_turns:
        if rng.random() < 0.12:
            d.language = "en" if d.language == "ko" else "ko"
        rng.choices(_TURNS, _WHOLE)[0](d)
    if rng.random() < 0.25:
        thanks(d)
    return d.messages


def _until_first_call(messages: list[Message]) -> list[Message]:
    for end, message in enumerate(messages, 1):
        if message.role == "assistant":
            return messages[:end]
    return messages
