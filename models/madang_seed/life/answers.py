"""What the assistant says of results, refusals and requests that need no tool; each in the user's language."""

from __future__ import annotations

import random

from ..envelopes import Data
from ..failing import Failures
from ..grammar import choose, say
from .catalogue import Item
from .results import Habit, Row

SHOWN = 3


def found(rng: random.Random, language: str, rows: list[Row], total: int) -> str:
    """Names the items that a search gave."""
    if not rows:
        return choose(rng, _NOTHING_FOUND[language])
    lines = [f"{number}. {row.title}" for number, row in enumerate(rows[:SHOWN], 1)]
    more = total - len(lines)
    if more > 0:
        lines.append({"ko": f"그 밖에 {more}개가 더 있어요.", "en": f"There are {more} more."}[language])
    head = {"ko": f"{total}개를 찾았어요.", "en": f"I found {total}:" if total > 1 else "I found one:"}[language]
    tail = choose(rng, _AFTER_FOUND[language])
    return "\n".join([head, *lines, tail])


_NOTHING_FOUND = {
    "ko": ["맞는 항목을 찾지 못했어요. 다른 낱말이나 수면, 운동 같은 분야로 찾아볼까요?"],
    "en": ["I found nothing that fits. Shall I look for another word or for a topic such as sleep or exercise?"],
}
_AFTER_FOUND = {
    "ko": ["자세히 보거나 추가할 것이 있으면 말씀해 주세요."],
    "en": ["Tell me which one you would like to read about or add."],
}


def record(language: str, item: Item, locale: str) -> str:
    """Tells what a full record says; its own words stay in the language of the record."""
    steps = " ".join(f"{number}) {step}" for number, step in enumerate(item.steps[locale], 1))
    title, summary, amount = item.title[locale], item.summary[locale], item.standard[locale]
    if language == "ko":
        return f"{title}: {summary}\n{steps}\n기본 분량: {amount}\n습관으로 추가할까요?"
    return f"{title}: {summary}\n{steps}\nUsual dose: {amount}\nShall I add it to your habits?"


def added(rng: random.Random, language: str, habit: Habit, already: bool) -> str:
    """Tells that a habit was added, or was there before."""
    if already:
        return say(rng, {
            "ko": "'{t}' 습관은 이미 {i}번으로 하고 있어요. 새로 추가한 것은 없어요.",
            "en": "'{t}' is already active as habit {i}. Nothing new was added.",
        }[language], t=habit.title, i=habit.id)
    return say(rng, {
        "ko": "'{t}' 습관을 {i}번으로 추가했어요. 문구: {f}",
        "en": "I added '{t}' as habit {i}. Text: {f}",
    }[language], t=habit.title, i=habit.id, f=habit.framed_text)


def listed(language: str, active: list[Habit]) -> str:
    """Names the active habits."""
    if not active:
        return {"ko": "진행 중인 습관이 아직 없어요. 카탈로그에서 찾아볼까요?", "en": "You have no active habits yet. Shall I search the catalogue?"}[language]
    lines = [f"{habit.id}: {habit.title}" for habit in active]
    count = len(active)
    head = {"ko": f"진행 중인 습관은 {count}개예요.", "en": f"You have {count} active habit{'s' if count > 1 else ''}:"}[language]
    return "\n".join([head, *lines])


def streak(language: str, data: Data) -> str:
    """Tells how steadily a habit is kept."""
    values = (data["title"], data["current"], data["longest"], data["last_30_days"], data["tier"])
    if language == "ko":
        return "'{}': 지금 연속 {}일, 최장 {}일, 최근 30일 가운데 {}일 했어요. 단계는 {}예요.".format(*values)
    return "'{}': current streak {} days, longest {}, done on {} of the last 30 days. Tier {}.".format(*values)


def logged(language: str, data: Data, title: str | None = None) -> str:
    """Tells what was recorded."""
    named = f" ('{title}')" if title else ""
    if language == "ko":
        which = f"{data['habit_id']}번 습관{named.strip()}"
        return f"{which}을 {data['date']} {'완료로' if data['value'] == 'done' else '빈칸으로'} 기록했어요."
    return f"I recorded habit {data['habit_id']}{named} as {data['value']} for {data['date']}."


_CANCELLED = {
    "ko": {
        "denied": "허락하지 않으셔서 {what} 않았어요. 저장된 것은 없어요.",
        "expired": "제때 답이 없어서 {what} 않았어요. 저장된 것은 없어요.",
        "unreachable": "확인해 줄 사람이 없어서 {what} 않았어요. 저장된 것은 없어요.",
        "dismissed": "화면이 닫혀서 {what} 않았어요. 저장된 것은 없어요.",
    },
    "en": {
        "denied": "You did not confirm, so {what}. Nothing was saved.",
        "expired": "The question expired, so {what}. Nothing was saved.",
        "unreachable": "Nobody could be asked to confirm, so {what}. Nothing was saved.",
        "dismissed": "The screen was closed, so {what}. Nothing was saved.",
    },
}
_UNDONE = {
    "ko": {"add_habit": "추가하지", "log_tracker_entry": "기록하지"},
    "en": {"add_habit": "the habit was not added", "log_tracker_entry": "the day was not recorded"},
}


def cancelled(rng: random.Random, language: str, why: str, tool: str) -> str:
    """Tells that nothing was done, and why."""
    return say(rng, _CANCELLED[language][why], what=_UNDONE[language][tool])


# (code, kind) -> reason in each language, answer in each language. `{i}` is a habit's number.
FAILURES: dict[str, Failures] = {
    "add_habit": [
        ("r3_quota", {"ko": "만들기 습관은 동시에 3개까지만 할 수 있습니다.", "en": "At most 3 build habits can be active at the same time."},
         {"ko": "만들기 습관은 동시에 3개까지만 할 수 있어서 추가하지 못했어요.", "en": "At most 3 build habits can be active at once, so it was not added."}),
        ("r3_quota", {"ko": "줄이기 습관은 동시에 1개까지만 할 수 있습니다.", "en": "At most 1 break habit can be active at the same time."},
         {"ko": "줄이기 습관은 동시에 1개까지만 할 수 있어서 추가하지 못했어요.", "en": "At most 1 break habit can be active at once, so it was not added."}),
        ("r3_frame", {"ko": "습관의 틀은 L2(다가가기)나 L3(정체성)이어야 합니다.", "en": "The frame must be L2 (approach) or L3 (identity)."},
         {"ko": "틀은 L2나 L3만 쓸 수 있어서 추가하지 못했어요. L2로 할까요?", "en": "Only the frames L2 and L3 are possible, so it was not added. Shall I use L2?"}),
        ("r7_avoidance", {"ko": "'{w}' 같은 피하는 말 대신 하고 싶은 행동으로 적어 주세요.", "en": "Say what you want to do instead of avoiding something (found '{w}')."},
         {"ko": "'{w}' 같은 피하는 말이 있어서 추가하지 못했어요. 하고 싶은 행동으로 바꿔 말씀해 주세요.", "en": "It was not added because of the avoiding word '{w}'. Please say what you want to do instead."}),
        ("r8_xor", {"ko": "프로토콜, 줄이기 프로토콜, 식사 패턴 가운데 하나만 골라야 합니다.", "en": "Choose exactly one of protocol, break protocol and diet pattern."},
         {"ko": "한 가지만 골라야 해서 추가하지 못했어요.", "en": "Exactly one item must be chosen, so it was not added."}),
        ("not_found", {"ko": "카탈로그에 그런 항목이 없습니다.", "en": "The catalogue has no such item."},
         {"ko": "카탈로그에 그런 항목이 없어서 추가하지 못했어요.", "en": "The catalogue has no such item, so it was not added."}),
    ],
    "log_tracker_entry": [
        ("r5_duplicate", {"ko": "{d}에는 이미 완료 기록이 있어서 바꿀 수 없습니다.", "en": "{d} is already recorded as done and cannot be changed."},
         {"ko": "{d}에는 이미 완료 기록이 있어서 바꾸지 못했어요.", "en": "{d} is already recorded as done, so it was not changed."}),
        ("r5_duplicate", {"ko": "{d}에는 이미 빈칸 기록이 있어서 바꿀 수 없습니다.", "en": "{d} is already recorded as blank and cannot be changed."},
         {"ko": "{d}에는 이미 빈칸 기록이 있어서 바꾸지 못했어요.", "en": "{d} is already recorded as blank, so it was not changed."}),
        ("validation", {"ko": "{d} 날짜는 아직 오지 않았습니다. 오늘은 {e}입니다.", "en": "{d} has not come yet; today is {e}."},
         {"ko": "{d}은 아직 오지 않은 날이라 기록하지 못했어요.", "en": "{d} has not come yet, so it was not recorded."}),
        ("not_found", {"ko": "{i}번 습관을 찾을 수 없습니다.", "en": "There is no habit number {i}."},
         {"ko": "{i}번 습관이 없어서 기록하지 못했어요.", "en": "There is no habit {i}, so it was not recorded."}),
    ],
    "get_streak": [
        ("not_found", {"ko": "{i}번 습관을 찾을 수 없습니다.", "en": "There is no habit number {i}."},
         {"ko": "{i}번 습관을 찾지 못했어요.", "en": "There is no habit {i}."}),
    ],
    "query_protocol": [
        ("not_found", {"ko": "카탈로그에 그런 항목이 없습니다.", "en": "The catalogue has no such item."},
         {"ko": "카탈로그에 그런 항목이 없어요.", "en": "The catalogue has no such item."}),
    ],
}

TALK = {
    "ko": {
        "delete": "습관을 지우거나 고치는 도구가 없어서 할 수 없어요. 습관은 추가하고 기록하는 일만 할 수 있어요.",
        "which_add": "어떤 습관을 추가할까요? 이름을 말씀해 주시거나 먼저 찾아봐도 좋아요.",
        "which_log": "어떤 습관을 기록할까요? 습관 번호를 말씀해 주세요.",
        "which_streak": "어떤 습관의 기록을 볼까요? 습관 번호를 말씀해 주세요.",
        "which_date": "날짜를 2026-11-20처럼 연-월-일로 말씀해 주세요.",
        "no_such_habit": "진행 중인 습관 가운데 '{t}' 습관이 없어요.",
    },
    "en": {
        "delete": "I have no tool to delete or change habits. I can only add habits and record them.",
        "which_add": "Which habit shall I add? Give me its name, or let me search first.",
        "which_log": "Which habit shall I record? Please give me its number.",
        "which_streak": "Which habit do you mean? Please give me its number.",
        "which_date": "Please give me the date as year-month-day, like 2026-11-20.",
        "no_such_habit": "None of your active habits is '{t}'.",
    },
}
