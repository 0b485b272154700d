"""What the assistant says itself about habits: questions back, and what it has not learned."""

from __future__ import annotations

TALK = {
    "ko": {
        "unlearnt": "그건 제가 배우지 않은 일이에요. 습관을 찾고, 추가하고, 기록하고, 기록을 고치고, 끝내는 일만 할 수 있어요.",
        "which_add": "어떤 습관을 추가할까요? 이름을 말씀해 주시거나 먼저 찾아봐도 좋아요.",
        "which_log": "어떤 습관을 기록할까요? 습관 번호를 말씀해 주세요.",
        "which_streak": "어떤 습관의 기록을 볼까요? 습관 번호를 말씀해 주세요.",
        "which_end": "어떤 습관을 끝낼까요? 습관 번호나 이름을 말씀해 주세요.",
        "which_date": "날짜를 2026-11-20처럼 연-월-일로 말씀해 주세요.",
    },
    "en": {
        "unlearnt": "I have not learned that. I can only find habits, add them, record days, correct records and end habits.",
        "which_add": "Which habit shall I add? Give me its name, or let me search first.",
        "which_log": "Which habit shall I record? Please give me its number.",
        "which_streak": "Which habit do you mean? Please give me its number.",
        "which_end": "Which habit shall I end? Please give me its number or its name.",
        "which_date": "Please give me the date as year-month-day, like 2026-11-20.",
    },
}
