"""What a model reads of a tool's outcome: the same shapes, texts and limits as the runtime's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

MAX_BYTES = 2048
Data = dict[str, Any]

CANCELLED = {
    "denied": "user did not confirm",
    "expired": "the question expired without an answer",
    "unreachable": "nobody could be asked to confirm",
    "dismissed": "the user left before answering",
    "withdrawn": "the turn ended before this began, so it was not run",
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


def ok(data: Data, tool: str | None = None) -> str:
    """The envelope of a success of this tool, cut as the runtime cuts it where it would be too long."""
    whole = _success(data)
    if _fits(whole):
        return whole
    hint = {"_hint": f"ask {_NARROWER[tool]} for the rest"} if tool in _NARROWER else {}
    key = max((key for key in data if isinstance(data[key], list)), key=lambda key: len(compact(data[key]).encode()))
    total = len(data[key])

    def with_texts(chars: int) -> str:
        texts = {name: one if name.lower().endswith(_NAMES) else _shortened(one, chars) for name, one in data.items()}
        return _success({**texts, "_truncated": True, **hint})

    def with_entries(kept: int) -> str:
        count = {} if "count" in data else {"count": total}
        rest = {"next_offset" if "next_offset" in data else "nextOffset": kept} if tool in _PAGED else {}
        return _success({**data, key: data[key][:kept], **count, **rest, "_truncated": True, **hint})

    # Texts are cut first, down to what still says something, and entries are left out after that.
    fewest = _FEWEST_CHARS if total <= _FEW_ENTRIES else _SOME_CHARS
    return _longest(with_texts, fewest, _longest_text(data)) or _longest(with_entries, 0, total - 1)


def _longest(write: Callable[[int], str], low: int, high: int) -> str:
    """The longest text that fits, where a larger number makes a longer one; blank where none does."""
    best = ""
    while low <= high:
        middle = (low + high) // 2
        written = write(middle)
        if _fits(written):
            best, low = written, middle + 1
        else:
            high = middle - 1
    return best


def _fits(text: str) -> bool:
    return len(text.encode()) <= MAX_BYTES


def _success(data: Data) -> str:
    return compact({"status": "ok", "data": data})


def _longest_text(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(_longest_text, inner), default=0)


# The tool that tells what had no room, and the tools whose lists can be read on.
_NARROWER = {
    "search_catalog": "query_protocol",
    "list_active_habits": "get_habit",
    "list_pages": "query_pages",
    "create_page_with_blocks": "get_page_blocks",
    "get_current_context": "get_block",
    "switch_to_index": "list_pages",
    "query_blocks": "get_block",
    "get_page_blocks": "get_block",
}
_PAGED = frozenset("list_pages query_pages query_blocks get_page_blocks switch_to_index list_tracker_entries".split())
_FEW_ENTRIES, _FEWEST_CHARS, _SOME_CHARS, _WHOLE_CHARS = 8, 12, 60, 40
_NAMES = ("title", "name", "code")


def _shortened(value: object, chars: int) -> object:
    """A value whose long texts are cut, but for titles."""
    if isinstance(value, str) and len(value) > max(_WHOLE_CHARS, chars):
        note = f"…(+{len(value) - chars})"
        return value[:chars] + note if len(note.encode()) < len(value[chars:].encode()) else value
    if isinstance(value, list):
        return [_shortened(item, chars) for item in value]
    if isinstance(value, dict):
        return {key: one if key.lower().endswith(_NAMES) else _shortened(one, chars) for key, one in value.items()}
    return value


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
