"""What the assistant says of results, refusals and requests that need no tool; each in the user's language."""

from __future__ import annotations

import random

from .catalogue import Item
from .envelopes import Data, Habit, Row
from .grammar import choose, say

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


def logged(language: str, data: Data) -> str:
    """Tells what was recorded."""
    if language == "ko":
        return f"{data['habit_id']}번 습관을 {data['date']} {'완료로' if data['value'] == 'done' else '빈칸으로'} 기록했어요."
    return f"I recorded habit {data['habit_id']} as {data['value']} for {data['date']}."


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
FAILURES: dict[str, list[tuple[str, dict[str, str], dict[str, str]]]] = {
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

_ANY_FAILURE: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("timeout", {"ko": "도구가 5초 안에 끝나지 않았습니다. 아무것도 바뀌지 않았습니다.", "en": "The tool did not finish within 5 s. Nothing was changed."},
     {"ko": "제시간에 끝나지 않았어요. 바뀐 것은 없어요. 다시 해 볼까요?", "en": "It took too long. Nothing was changed. Shall I try again?"}),
    ("timeout", {"ko": "도구가 5초 안에 끝나지 않았습니다. 이미 적용되었을 수도 있습니다.", "en": "The tool did not finish within 5 s. It may have taken effect."},
     {"ko": "제시간에 끝나지 않았어요. 적용되었을 수도 있으니 직접 확인해 주세요.", "en": "It took too long. It may have taken effect, so please check."}),
    ("overloaded", {"ko": "지금은 요청이 너무 많습니다. 잠시 뒤에 다시 시도해 주세요.", "en": "Too much is going on right now. Please try again in a moment."},
     {"ko": "지금은 요청이 너무 많아서 하지 못했어요. 잠시 뒤에 다시 말씀해 주세요.", "en": "Too much is going on right now, so it was not done. Please try again in a moment."}),
    ("store", {"ko": "저장소를 쓸 수 없어 실행하지 않았습니다.", "en": "The store is not available, so nothing was run."},
     {"ko": "저장소를 쓸 수 없어서 하지 못했어요. 저장된 것은 없어요.", "en": "The store is not available, so it was not done. Nothing was saved."}),
    ("handler_error", {"ko": "도구 실행 실패: {f}", "en": "the tool failed: {f}"},
     {"ko": "도구가 실패해서 하지 못했어요 ({f}).", "en": "The tool failed, so it was not done ({f})."}),
    ("handler_error", {"ko": "실행이 시작되었지만 결과를 확인할 수 없습니다. 적용되었을 수도 있습니다.", "en": "It had begun, but how it ended is not known. It may have taken effect."},
     {"ko": "결과를 확인하지 못했어요. 적용되었을 수도 있으니 직접 확인해 주세요.", "en": "How it ended is not known. It may have taken effect, so please check."}),
    ("validation", {"ko": "인자 오류: /{a}: {p}", "en": "invalid arguments: /{a}: {p}"},
     {"ko": "요청의 형식이 맞지 않아서 하지 못했어요. 다르게 말씀해 주세요.", "en": "The request was not valid, so it was not done. Please put it differently."}),
    ("unknown_tool", {"ko": "알 수 없는 도구: {o}", "en": "unknown tool: {o}"},
     {"ko": "그 도구를 쓸 수 없어서 하지 못했어요.", "en": "That tool is not available, so it was not done."}),
]


_ARGUMENTS = "habit_id protocol_id keyword framed_text date limit id pageId title query content blocks".split()


def failure(rng: random.Random, language: str, locale: str, tool: str, slots: Data) -> tuple[str, str, str]:
    """A failure of a tool: its code, its reason in the session's language, the answer in the user's language."""
    own = FAILURES.get(tool, [])
    code, reasons, answers = rng.choice(own if own and rng.random() < 0.6 else _ANY_FAILURE)
    filled = {
        **slots,
        "w": rng.choice(("안 ", "금지", "끊", "그만", "지 않", "참기", "절대") if locale == "ko" else ("not", "never", "stop", "quit", "avoid", "no")).strip(),
        "f": rng.choice(("Panic", "Serialize", "ReplyLost", "Error", "Database", "Io")),
        "a": rng.choice(_ARGUMENTS),
        "p": rng.choice(('"***" is not of type "integer"', "is too long", "is a required property", "is not one of the values")),
        "o": tool,
    }
    return code, say(rng, reasons[locale], **filled), say(rng, answers[language], **filled)


SMALL_TALK: dict[str, dict[str, list[str]]] = {
    "ko": {
        "thanks": ["도움이 되어 기뻐요. 더 필요한 것이 있으면 말씀해 주세요."],
        "bye": ["다음에 또 만나요. 좋은 하루 보내세요!"],
        "nevermind": ["알겠어요. 필요한 것이 생기면 말씀해 주세요."],
        "delete": ["습관을 지우거나 고치는 도구가 없어서 할 수 없어요. 습관은 추가하고 기록하는 일만 할 수 있어요."],
        "which_add": ["어떤 습관을 추가할까요? 이름을 말씀해 주시거나 먼저 찾아봐도 좋아요."],
        "which_log": ["어떤 습관을 기록할까요? 습관 번호를 말씀해 주세요."],
        "which_streak": ["어떤 습관의 기록을 볼까요? 습관 번호를 말씀해 주세요."],
        "which_date": ["날짜를 2026-11-20처럼 연-월-일로 말씀해 주세요."],
        "no_such_habit": ["진행 중인 습관 가운데 '{t}' 습관이 없어요."],
    },
    "en": {
        "thanks": ["Glad to help. Tell me if you need anything else."],
        "bye": ["See you next time. Have a good day!"],
        "nevermind": ["All right. Tell me when you need something."],
        "delete": ["I have no tool to delete or change habits. I can only add habits and record them."],
        "which_add": ["Which habit shall I add? Give me its name, or let me search first."],
        "which_log": ["Which habit shall I record? Please give me its number."],
        "which_streak": ["Which habit do you mean? Please give me its number."],
        "which_date": ["Please give me the date as year-month-day, like 2026-11-20."],
        "no_such_habit": ["None of your active habits is '{t}'."],
    },
}

# What it says of itself, with what it can do; `{w}` is one of the works below.
_SELF = {
    "ko": {
        "greet": "안녕하세요! {w} 일을 도와드려요. 무엇을 해 볼까요?",
        "who": "저는 마당의 작은 시범 모델이에요. {w} 일을 할 수 있어요.",
        "outside": "그건 제가 할 수 없는 일이에요. 저는 {w} 일만 할 수 있어요.",
    },
    "en": {
        "greet": "Hello! I can {w}. What would you like to do?",
        "who": "I am the small demonstration model of Madang. I can {w}.",
        "outside": "I cannot do that. I can only {w}.",
    },
}
_WORKS = {
    "ko": {
        ("life",): "습관 프로토콜을 찾고, 습관을 추가하고, 기록하는",
        ("notes",): "페이지를 열고 만들고, 줄을 찾고 적고 고치는",
        ("life", "notes"): "습관을 찾아 추가하고 기록하는 일과, 노트의 페이지와 줄을 찾고 적고 고치는",
    },
    "en": {
        ("life",): "search habit protocols, add habits and record them",
        ("notes",): "open and create pages, and find, write and change lines",
        ("life", "notes"): "search, add and record habits, and find, write and change pages and lines of notes",
    },
}


def of_itself(language: str, kind: str, toolkits: tuple[str, ...]) -> str:
    """What it says of itself: in a greeting, when asked, and when asked for something else."""
    return _SELF[language][kind].format(w=_WORKS[language][toolkits])


DISCARDED = {
    "ko": {
        "committed": "화면이 닫혔지만 적용되었어요.",
        "none": "화면이 닫혀서 적용되지 않았어요. 바뀐 것은 없어요.",
        "unknown": "화면이 닫혀서 결과를 알 수 없어요. 적용되었을 수도 있으니 직접 확인해 주세요.",
    },
    "en": {
        "committed": "The screen was closed, but it took effect.",
        "none": "The screen was closed and it did not take effect. Nothing was changed.",
        "unknown": "The screen was closed, so how it ended is not known. It may have taken effect, so please check.",
    },
}
