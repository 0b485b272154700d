"""What the assistant says itself: fixed sentences where no tool is called. None of them holds anything said or found."""

from __future__ import annotations

# One sentence for all: which of the two languages its reader knows cannot be read from a third.
LANGUAGES = "I only understand Korean and English. 저는 한국어와 영어만 알아들어요."

# What it says whatever the toolkits are.
SAID = {
    "ko": {
        "thanks": "도움이 되어 기뻐요. 더 필요한 것이 있으면 말씀해 주세요.",
        "bye": "다음에 또 만나요. 좋은 하루 보내세요!",
        "nevermind": "알겠어요. 지금은 아무것도 하지 않을게요. 필요한 것이 생기면 말씀해 주세요.",
        "heard": "그렇군요. 제가 할 일이 있으면 말씀해 주세요.",
        "unclear": "무슨 말씀인지 잘 모르겠어요. 다르게 말씀해 주세요.",
        "languages": LANGUAGES,
        "crisis": "많이 힘드시군요. 저는 작은 시범 모델이라 도와드리지 못해요. 가까운 사람이나 전문가에게 꼭 이야기해 주세요.",
    },
    "en": {
        "thanks": "Glad to help. Tell me if you need anything else.",
        "bye": "See you next time. Have a good day!",
        "nevermind": "All right, I will not do anything now. Tell me when you need something.",
        "heard": "I see. Tell me if there is something for me to do.",
        "unclear": "I did not understand that. Please put it differently.",
        "languages": LANGUAGES,
        "crisis": "I am sorry that it is so hard. I am a small demonstration model and cannot help with this. Please talk to someone close to you or to a professional.",
    },
}

# What it says of itself, with what it can do; `{w}` is one of the works below.
_SELF = {
    "ko": {
        "greet": "안녕하세요! {w} 일을 도와드려요. 무엇을 해 볼까요?",
        "who": "저는 마당의 작은 시범 모델이에요. {w} 일을 할 수 있어요.",
        "outside": "그건 제가 배우지 않은 일이에요. 저는 {w} 일만 할 수 있어요.",
    },
    "en": {
        "greet": "Hello! I can {w}. What would you like to do?",
        "who": "I am the small demonstration model of Madang. I can {w}.",
        "outside": "I have not learned that. I can only {w}.",
    },
}
_WORKS = {
    "ko": {
        ("life",): "습관 프로토콜을 찾고, 습관을 추가하고 기록하고 끝내는",
        ("notes",): "페이지를 열고 만들고, 줄을 찾고 적고 고치고 지우는",
        ("life", "notes"): "습관을 찾아 추가하고 기록하는 일과, 노트의 페이지와 줄을 찾고 적고 고치고 지우는",
    },
    "en": {
        ("life",): "search habit protocols, and add, record and end habits",
        ("notes",): "open and create pages, and find, write, change and delete lines",
        ("life", "notes"): "search, add and record habits, and find, write, change and delete lines of notes",
    },
}


def of_itself(language: str, kind: str, toolkits: tuple[str, ...]) -> str:
    """What it says of itself: in a greeting, when asked, and when asked for something else."""
    return _SELF[language][kind].format(w=_WORKS[language][toolkits])
