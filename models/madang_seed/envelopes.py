"""What a model reads of a tool's outcome: the same shapes, texts and limits as the runtime's own."""

from __future__ import annotations

import json
from typing import Any

MAX_BYTES = 2048
Data = dict[str, Any]

CANCELLED = {
    "denied": "user did not confirm",
    "expired": "the question expired without an answer",
    "unreachable": "nobody could be asked to confirm",
    "dismissed": "the user left before answering",
}

DISCARDED = {
    "ko": {
        "none": "화면이 닫혀 결과를 버렸습니다. 적용되지 않았습니다.",
        "committed": "화면이 닫혀 결과를 버렸지만, 적용되었습니다.",
        "unknown": "화면이 닫혀 결과를 버렸습니다. 적용되었을 수도 있습니다.",
    },
    "en": {
        "none": "the screen was closed and the result discarded. It did not take effect.",
        "committed": "the screen was closed and the result discarded, but it took effect.",
        "unknown": "the screen was closed and the result discarded. It may have taken effect.",
    },
}

SETTLED = {
    "ko": {True: "확인 결과 적용되었습니다.", False: "확인 결과 적용되지 않았습니다."},
    "en": {True: "it is known now that it took effect.", False: "it is known now that it did not take effect."},
}


def compact(value: object) -> str:
    """JSON as the runtime writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def ok(data: Data) -> str:
    """The envelope of a success, its largest list cut where it would be too long."""
    whole = compact({"status": "ok", "data": data})
    if len(whole.encode()) <= MAX_BYTES:
        return whole
    key = max((key for key in data if isinstance(data[key], list)), key=lambda key: len(compact(data[key]).encode()))
    count = {} if "count" in data else {"count": len(data[key])}
    for kept in range(len(data[key]) - 1, -1, -1):
        cut = {**data, **count, key: data[key][:kept], "_truncated": True}
        told = compact({"status": "ok", "data": cut})
        if len(told.encode()) <= MAX_BYTES:
            return told
    raise AssertionError("even the empty list is too long")


def error(code: str, reason: str) -> str:
    """The envelope of a failure."""
    return compact({"status": "error", "code": code, "reason": reason})


def cancelled(why: str, message: str | None = None) -> str:
    """The envelope of a call that no person allowed, with what the person who denied it said."""
    said = {} if message is None else {"message": message}
    return compact({"status": "cancelled", "reason": CANCELLED[why], **said})


def discarded(tool: str, effect: str, locale: str) -> str:
    """The envelope of a call whose result was thrown away because the screen was closed."""
    return compact({"status": "discarded", "effect": effect, "reason": f"{tool}: {DISCARDED[locale][effect]}"})


def settled(envelope: str, tool: str, took_effect: bool, locale: str) -> str:
    """The envelope of a call of unknown effect, once that is known."""
    return _beside(envelope, "settled", f"{tool}: {SETTLED[locale][took_effect]}")


def changed(envelope: str, arguments: Data) -> str:
    """The envelope of a call whose arguments the person changed before allowing it."""
    return _beside(envelope, "user_changed_arguments_to", arguments)


def _beside(envelope: str, key: str, value: object) -> str:
    """One more field behind the status."""
    status, _, rest = envelope.partition(",")
    return f'{status},"{key}":{compact(value)},{rest}'
