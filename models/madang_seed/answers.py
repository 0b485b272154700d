"""What the assistant says of itself, and where no tool is needed."""

from __future__ import annotations

POLITE = {
    "ko": {
        "thanks": "도움이 되어 기뻐요. 더 필요한 것이 있으면 말씀해 주세요.",
        "bye": "다음에 또 만나요. 좋은 하루 보내세요!",
        "nevermind": "알겠어요. 필요한 것이 생기면 말씀해 주세요.",
    },
    "en": {
        "thanks": "Glad to help. Tell me if you need anything else.",
        "bye": "See you next time. Have a good day!",
        "nevermind": "All right. Tell me when you need something.",
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
        ("notes",): "페이지를 열고 만들고, 줄을 찾고 적고 고치고 지우는",
        ("life", "notes"): "습관을 찾아 추가하고 기록하는 일과, 노트의 페이지와 줄을 찾고 적고 고치고 지우는",
    },
    "en": {
        ("life",): "search habit protocols, add habits and record them",
        ("notes",): "open and create pages, and find, write, change and delete lines",
        ("life", "notes"): "search, add and record habits, and find, write, change and delete lines of notes",
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

SETTLED = {
    "ko": {True: "확인해 보니 적용되었어요.", False: "확인해 보니 적용되지 않았어요. 바뀐 것은 없어요."},
    "en": {
        True: "It is known now that it took effect.",
        False: "It is known now that it did not take effect. Nothing was changed.",
    },
}
