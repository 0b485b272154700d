"""Failures that any tool may have, and those that are its own: what the tool says and what is said of it."""

from __future__ import annotations

from . import envelopes
from .dialogue import Dialogue
from .grammar import say

# The code, the reason in each language and the answer in each language. The tool that fails tells `{i}` etc.
Failures = list[tuple[str, dict[str, str], dict[str, str]]]


def fail(d: Dialogue, tool: str, own: Failures = [], /, **slots: object) -> None:  # noqa: B006 - no code changes it
    """The tool fails, for a reason of its own where it has some, and the assistant says so."""
    rng = d.rng
    code, reasons, answers = rng.choice(own if own and rng.random() < 0.6 else _ANY)
    filled = {
        **slots,
        "w": rng.choice(_AVOIDING[d.locale]),
        "f": rng.choice(_FAULTS),
        "a": rng.choice(_ARGUMENTS),
        "p": rng.choice(_PROBLEMS),
        "o": tool,
    }
    reason, answer = say(rng, reasons[d.locale], **filled), say(rng, answers[d.language], **filled)
    d.tool(envelopes.error(code, reason))
    d.say(answer)


_AVOIDING = {
    "ko": ("안", "금지", "끊", "그만", "지 않", "참기", "절대"),
    "en": ("not", "never", "stop", "quit", "avoid", "no"),
}
_FAULTS = ("Panic", "Serialize", "ReplyLost", "Error", "Database", "Io")
_ARGUMENTS = "habit_id protocol_id keyword framed_text date limit id pageId title query content blocks".split()
_PROBLEMS = ('"***" is not of type "integer"', "is too long", "is a required property", "is not one of the values")

# Whether it took effect is not known.
UNKNOWN: Failures = [
    ("timeout", {"ko": "도구가 5초 안에 끝나지 않았습니다. 이미 적용되었을 수도 있습니다.", "en": "The tool did not finish within 5 s. It may have taken effect."},
     {"ko": "제시간에 끝나지 않았어요. 적용되었을 수도 있으니 직접 확인해 주세요.", "en": "It took too long. It may have taken effect, so please check."}),
    ("handler_error", {"ko": "실행이 시작되었지만 결과를 확인할 수 없습니다. 적용되었을 수도 있습니다.", "en": "It had begun, but how it ended is not known. It may have taken effect."},
     {"ko": "결과를 확인하지 못했어요. 적용되었을 수도 있으니 직접 확인해 주세요.", "en": "How it ended is not known. It may have taken effect, so please check."}),
]
_ANY: Failures = [
    *UNKNOWN,
    ("timeout", {"ko": "도구가 5초 안에 끝나지 않았습니다. 아무것도 바뀌지 않았습니다.", "en": "The tool did not finish within 5 s. Nothing was changed."},
     {"ko": "제시간에 끝나지 않았어요. 바뀐 것은 없어요. 다시 해 볼까요?", "en": "It took too long. Nothing was changed. Shall I try again?"}),
    ("overloaded", {"ko": "지금은 요청이 너무 많습니다. 잠시 뒤에 다시 시도해 주세요.", "en": "Too much is going on right now. Please try again in a moment."},
     {"ko": "지금은 요청이 너무 많아서 하지 못했어요. 잠시 뒤에 다시 말씀해 주세요.", "en": "Too much is going on right now, so it was not done. Please try again in a moment."}),
    ("store", {"ko": "저장소를 쓸 수 없어 실행하지 않았습니다.", "en": "The store is not available, so nothing was run."},
     {"ko": "저장소를 쓸 수 없어서 하지 못했어요. 저장된 것은 없어요.", "en": "The store is not available, so it was not done. Nothing was saved."}),
    ("handler_error", {"ko": "도구 실행 실패: {f}", "en": "the tool failed: {f}"},
     {"ko": "도구가 실패해서 하지 못했어요 ({f}).", "en": "The tool failed, so it was not done ({f})."}),
    ("validation", {"ko": "인자 오류: /{a}: {p}", "en": "invalid arguments: /{a}: {p}"},
     {"ko": "요청의 형식이 맞지 않아서 하지 못했어요. 다르게 말씀해 주세요.", "en": "The request was not valid, so it was not done. Please put it differently."}),
    ("unknown_tool", {"ko": "알 수 없는 도구: {o}", "en": "unknown tool: {o}"},
     {"ko": "그 도구를 쓸 수 없어서 하지 못했어요.", "en": "That tool is not available, so it was not done."}),
]
