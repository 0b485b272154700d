"""What the assistant says itself about notes: questions back, and what it does with notes."""

from __future__ import annotations

TALK = {
    "ko": {
        "MAKE_NOTHING": "어떤 제목으로 페이지를 만들까요?",
        "ADD_NOTHING_HERE": "무엇이라고 적을까요?",
        "CHANGE_NOTHING": "어느 줄을 무엇으로 바꿀까요?",
        "DELETE_NOTHING": "어느 줄을 지울까요?",
        "RENAME_NOTHING": "어느 페이지의 이름을 무엇으로 바꿀까요?",
        "FIND_NOTHING": "무엇을 찾을까요?",
        "OPEN_NOTHING": "어느 페이지를 열까요?",
        "OTHERS": "다른 사람의 노트는 볼 수 없어요. 본인의 노트만 볼 수 있어요.",
        "HOW": "페이지를 열고 만들고, 줄을 찾고 적고 고치고 지울 수 있어요. 예를 들어 '장보기' 페이지에 '우유'를 적어 달라고 말씀해 주세요.",
    },
    "en": {
        "MAKE_NOTHING": "What title shall the page have?",
        "ADD_NOTHING_HERE": "What shall I write?",
        "CHANGE_NOTHING": "Which line shall I change, and to what?",
        "DELETE_NOTHING": "Which line shall I delete?",
        "RENAME_NOTHING": "Which page shall I rename, and to what?",
        "FIND_NOTHING": "What shall I look for?",
        "OPEN_NOTHING": "Which page shall I open?",
        "OTHERS": "I cannot see the notes of other people, only your own.",
        "HOW": "I can open and create pages, and find, write, change and delete lines. For example, ask me to add 'milk' to the page 'Groceries'.",
    },
}
