"""What may become of a call besides its success: it fails, or no person allows it. The answer is the same each time."""

from __future__ import annotations

from . import envelopes
from .dialogue import Dialogue
from .grammar import say

# The code and the reason in each language. The tool that fails tells `{i}` etc.
Failures = list[tuple[str, dict[str, str]]]


def fail(d: Dialogue, tool: str, own: Failures = [], /, **slots: object) -> None:  # noqa: B006 - no code changes it
    """The tool fails, for a reason of its own where it has some."""
    rng = d.rng
    code, reasons = rng.choice(own if own and rng.random() < 0.6 else _ANY)
    filled = {
        **slots,
        "w": rng.choice(_AVOIDING[d.locale]),
        "f": rng.choice(_FAULTS),
        "a": rng.choice(_ARGUMENTS),
        "p": rng.choice(_PROBLEMS[d.locale]),
        "o": tool,
    }
    d.tool(envelopes.error(code, say(rng, reasons[d.locale], **filled)))
    d.result()


def not_allowed(d: Dialogue, message: str | None = None) -> None:
    """No person allows the call."""
    why = d.rng.choices(list(_WHY), list(_WHY.values()))[0]
    d.tool(envelopes.cancelled(why, message if why == "denied" else None))
    d.result()


_WHY = {"denied": 5, "expired": 1, "unreachable": 1, "dismissed": 1, "withdrawn": 1}
_AVOIDING = {
    "ko": ("안", "금지", "끊", "그만", "지 않", "참기", "절대"),
    "en": ("not", "never", "stop", "quit", "avoid", "no"),
}
_FAULTS = ("Panic", "Serialize", "ReplyLost", "Error", "Database", "Io")
_ARGUMENTS = "habit_id protocol_id keyword framed_text date limit id pageId title query content blocks".split()
_PROBLEMS = {
    "ko": ("꼭 있어야 합니다", "200자 이하여야 합니다", "올바른 date 값이 아닙니다", '"integer" 형식이어야 합니다'),
    "en": ("is required", "takes at most 200 characters", "is not a valid date", 'must be of type "integer"'),
}

# Whether it took effect is not known.
UNKNOWN: Failures = [
    ("timeout", {"ko": "도구가 5초 안에 끝나지 않았습니다. 이미 적용되었을 수도 있습니다.", "en": "The tool did not finish within 5 s. It may have taken effect."}),
    ("handler_error", {"ko": "실행이 시작되었지만 결과를 확인할 수 없습니다. 적용되었을 수도 있습니다.", "en": "It had begun, but how it ended is not known. It may have taken effect."}),
]
_ANY: Failures = [
    *UNKNOWN,
    ("timeout", {"ko": "도구가 5초 안에 끝나지 않았습니다. 아무것도 바뀌지 않았습니다.", "en": "The tool did not finish within 5 s. Nothing was changed."}),
    ("overloaded", {"ko": "지금은 요청이 너무 많습니다. 잠시 뒤에 다시 시도해 주세요.", "en": "Too much is going on right now. Please try again in a moment."}),
    ("store", {"ko": "저장소를 쓸 수 없어 실행하지 않았습니다.", "en": "The store is not available, so nothing was run."}),
    ("handler_error", {"ko": "도구 실행 실패: {f}", "en": "the tool failed: {f}"}),
    ("validation", {"ko": "인자 오류: /{a}: {p}", "en": "invalid arguments: /{a}: {p}"}),
    ("unknown_tool", {"ko": "알 수 없는 도구: {o}", "en": "unknown tool: {o}"}),
]
