"""What people write down: titles, lines, paths. Most are put together anew, many of invented words."""

from __future__ import annotations

import random

from ..grammar import say
from ..lexicon import ADJECTIVES, FRAMED, INJECTIONS, NAMES, NOTES, NOUNS, PAIRS, TERMS, invented, noun
from ..outside import PLACES

TITLES = {
    "ko": [
        "{n}", "{n} {m}", "{n} {m}", "{when} {n}", "{when} {n}", "{rank} {n}", "{n} {rank} {m}", "{n} {x}박", "{p} {x}박", "{n} {x}월호", "{n} {x} {m}", "{n} {x}차 {m}", "{name} 선생님 {n}", "{n} 노트", "{n} 회의록", "{n} 계획", "{n} 목록", "{n} 일지", "{n} 정리", "{n} 아이디어", "{n} 기록", "{n} 보고서", "{n} 예산", "{n} 준비", "{n} 레시피", "{n} 스터디", "{n} 프로젝트", "{n} 할 일", "{a} {n}", "{a} {n} {m}", "{p} 여행", "{p} 출장", "{p} 맛집", "{name} 면담", "{name} 생일", "{name:과} {n}",
        "{date} 일일 노트", "{date}", "{date} {n}", "{y}년 {n}", "{y} {n} 목표", "{mo}월 {n}", "{mo}월 {da}일 {n}", "{q}분기 {n}", "주간 {n}", "월간 {n}", "일일 {n}", "팀 {n}", "우리 집 {n}", "내 {n}", "{n} v{x}", "{n} {x}", "{term} {n}", "{term}", "{n} ({m})", "{n}: {m}", "{n}/{m}", "{n} & {m}", "{pair}", "{pair} 노트", "읽을 책", "장보기", "회의록", "일기", "가계부", "버킷리스트", "{n} 체크리스트", "{n} 회고", "{n} 인수인계",
    ],
    "en": [
        "{N}", "{n}", "{N} {m}", "{n} {m}", "{When} {n}", "{Rank} {n}", "{N} {x} {m}", "{N} {x} {m}", "{Titled} {name}", "{N} for {titled} {name}", "{titled} {name}'s {n}", "{N} no. {x}", "{N} vs. {m}", "{N} to {m}", "{N} of the {m}", "{N} notes", "{n} notes", "{N} meeting", "{N} plan", "{n} list", "{N} log", "{N} ideas", "{n} ideas", "{N} budget", "{N} recipes", "{n} journal", "{N} project", "{N} report", "{n} to do", "{A} {n}", "{a} {n} {m}", "Trip to {p}", "{p} trip", "{p} 20{x2}", "{name}", "{name}'s birthday", "Talk with {name}", "{date} daily note", "{date}", "{date} {n}", "20{x2} {n}", "{N} 20{x2}", "{month} {n}", "{month} 20{x2}", "Q{q} {n}", "Weekly {n}", "Daily {n}", "Monthly {n}", "Team {n}", "My {n}", "Our {n}", "{N} v{x}", "{n} {x}", "{term} {n}", "{term}", "{N} ({m})", "{N}: {m}", "{N}/{m}", "{N} & {m}", "{Pair}", "{pair} notes", "Reading list", "Groceries", "Minutes", "Diary", "Bucket list", "{N} checklist", "{N} review", "{N} handover", "Project {N}", "{n} and {m}", "Chapter {x}",
    ],
}
LINES = {
    "ko": [
        "{n} 사기", "{n} 사기", "{n} {m}", "{n}", "{n} 확인하기", "{n} 예약", "{n} 주문", "{name}에게 전화", "{name:과} 점심", "{name}에게 {n} 보내기", "{h}시에 {n}", "오후 {h}시 {n}", "{mo}월 {da}일 {n}", "{date} {n}", "{n} {x}개", "{n} {x}분", "{n} {x}병", "{n} {x}만 원", "예산은 {x}만 원", "{n:은} {m}보다 {a} 편이다", "{n:을} {m}에 넣기", "{n:이} {a} 이유", "## {n}", "### {n} {m}", "- {box} {n} 사기", "- {ticked} {n} {m}", "**{n}** {m}", "{n}: {m}", "{n} - {m}", "{n} ({x})", "{n}, {m}", "{term} {n}", "{a} {n}", "{a} {n} {m} 준비", "다음 회의는 {mo}월 {da}일", "담당은 {name}", "{p} 가는 표 예매", "{n}/{m} 비교", "{x}% 할인", "{n} #{x}", "{pair}", "{pair} 하기", "비밀번호 바꾸기", "와이파이 비번 {made}{x}", "https://{latin}.com/{latin2}", "{latin}@{latin2}.com", "010-{x2}{x2}-{x2}{x2}", "{n:이라고} 들었다", "{n:을} 잊지 말자", "왜 {n:이} 필요한가?", "{n} 좋음!", "{n} → {m}", "{n} + {m}", "{framed}", "{framed}", "{note}", "{note}",
    ],
    "en": [
        "buy {n}", "Buy {n}", "buy {n} and {m}", "{n}", "{n} {m}", "call {name}", "call {titled} {name} about the {n}", "Call {name} about {n}", "send {n} to {name}", "lunch with {name}", "Ask {name} for the {n}", "{n} at {h}", "{n} at {h} pm", "meet {name} at {h}:30", "{month} {da}: {n}", "{date} {n}", "{x} {n}", "{x} grams of {n}", "{n}, {m}", "budget: {x}00", "the {n} is {a}", "The {a} {n} needs {m}", "## {N}", "### {N} and {m}", "- {box} buy {n}", "- {ticked} {n} {m}", "**{n}** {m}", "{n}: {m}", "{n} - {m}", "{n} ({x})", "{term} {n}", "{a} {n}", "check the {n}", "order {x} {n}", "book {n} in {p}", "flight to {p} on {month} {da}", "next meeting: {month} {da}", "owner: {name}", "{x}% off {n}", "{n} #{x}", "{pair}", "{pair} today", "change the password", "wifi: {made}{x}", "https://{latin}.com/{latin2}", "{latin}@{latin2}.com", "555-{x2}{x2}", "don't forget the {n}", "why {n}?", "{n} works!", "{n} -> {m}", "{n} + {m}", "It's {a}, {n} isn't", "{framed}", "{framed}", "{note}", "{note}",
    ],
}
FOLDERS = {"ko": "프로젝트 업무 개인 회의 여행 가족 학교 공부 자료 보관함 일지 2026 연구 취미 집 재무 독서".split(), "en": "Projects Work Personal Meetings Travel Family School Study Archive Journal 2026 Research Hobby Home Finance Reading".split()}
# Words that a title may begin with and that could be taken for a part of the request.
_WHEN = {
    "ko": "지난주,이번 주,다음 주,지난달,이번 달,다음 달,올해,작년,내년,어제,오늘,내일,주말,여름,겨울,봄,가을,새해".split(","),
    "en": "last week,this week,next week,this month,next month,this year,last year,yesterday,today,tomorrow,weekend,summer,winter,spring,autumn,new year".split(","),
}
_RANKS = {
    "ko": "첫째 둘째 셋째 막내 첫 두번째 제1 제2 우리 새 옛 다른 이번 모든".split(),
    "en": "first second third last new old other all second-hand our the".split(),
}
MONTHS = "January February March April May June July August September October November December".split()


# The share of lines that are written for a model to follow.
_HOSTILE = 0.025


def listing(rng: random.Random, language: str, novelty: float) -> str:
    """The title of a list or of notes, which people name without the word page."""
    if rng.random() < 0.35:
        return rng.choice(_LISTINGS[language])
    return f"{noun(rng, language, novelty)} {rng.choice(_LISTED[language])}"


_LISTINGS = {
    "ko": "장보기,장보기 목록,쇼핑 리스트,할 일,할 일 목록,준비물,회의록,여행 계획,버킷리스트,위시리스트,독서 목록,가계부,아이디어 노트,식단표,짐 목록,선물 목록".split(","),
    "en": "shopping list,grocery list,to-do list,packing list,wish list,reading list,bucket list,meeting notes,gift list,travel plan,recipe notes,idea list,watch list,chores list,meal plan".split(","),
}
_LISTED = {"ko": "목록 리스트 노트 메모장 일지 계획 회의록 체크리스트".split(), "en": "list notes log plan ideas checklist".split()}


def title(rng: random.Random, language: str, novelty: float) -> str:
    """The title of a page."""
    return _filled(rng, rng.choice(TITLES[language]), language, novelty)


def line(rng: random.Random, language: str, novelty: float) -> str:
    """A line of text, now and then one that wants to be followed."""
    if rng.random() < _HOSTILE:
        return rng.choice(INJECTIONS[language])
    template = rng.choice(LINES[language])
    if template == "{framed}":
        template = rng.choice(FRAMED[language])
    elif template == "{note}":
        template = rng.choice(NOTES[language])
    return _filled(rng, template, language, novelty)


def short_line(rng: random.Random, language: str, novelty: float) -> str:
    """A line of a few words, as they stand in lists."""
    template = rng.choice(_SHORT[language])
    return _filled(rng, template, language, novelty)


def item(rng: random.Random, language: str, novelty: float) -> str:
    """A short line that is told from its neighbours in a row of several."""
    while True:
        text = short_line(rng, language, novelty)
        if not set(text) & set(",;&+/'\"") and " and " not in text and "그리고" not in text:
            return text


_SHORT = {
    "ko": ["{n}", "{n}", "{n}", "{n} {m}", "{n} 사기", "{n} {x}개", "{a} {n}", "{pair}", "{name}에게 전화", "{n} 예약", "{term}", "{h}시 {n}", "{n} 준비", "{n} 정리"],
    "en": ["{n}", "{n}", "{n}", "{n} {m}", "buy {n}", "{x} {n}", "{a} {n}", "{pair}", "call {name}", "{N}", "{term}", "{n} at {h}", "check {n}", "order {n}"],
}


def part(rng: random.Random, language: str, text: str) -> str:
    """A part of a line or title by which a user may name it: a few words in a row, often all of them."""
    words = text.split(" ")
    if len(words) == 1 or rng.random() < 0.5:
        return text
    size = rng.randint(1, len(words) - 1)
    begin = rng.randint(0, len(words) - size)
    chosen = " ".join(words[begin : begin + size])
    letters = sum(character.isalpha() for character in chosen)
    return chosen if letters >= (2 if language == "ko" else 4) and "'" not in chosen else text


def path(rng: random.Random, language: str, novelty: float) -> str:
    """A path of titles."""
    parts = [rng.choice(FOLDERS[language])] if rng.random() < 0.7 else [noun(rng, language, novelty)]
    parts += [_plain_title(rng, language, novelty) for _ in range(rng.choice((0, 1, 1, 1, 2)))]
    text = "/".join(parts)
    if rng.random() < 0.2:
        text += ".md"
    elif len(parts) == 1:
        text = rng.choice((f"/{text}", f"{text}/"))
    elif rng.random() < 0.1:
        text = f"/{text}"
    return text


def _plain_title(rng: random.Random, language: str, novelty: float) -> str:
    while True:
        text = title(rng, language, novelty)
        if not set(text) & set("/:'&"):
            return text


def query(rng: random.Random, language: str, novelty: float) -> str:
    """What a user looks for."""
    roll = rng.random()
    if roll < 0.5:
        return noun(rng, language, novelty)
    if roll < 0.7:
        return rng.choice(PAIRS[language])
    if roll < 0.8:
        return rng.choice((rng.choice(NAMES[language]), rng.choice(TERMS), rng.choice(PLACES[language])))
    return _filled(rng, rng.choice(("{n} {m}", "{a} {n}", "{n} {x}")), language, novelty)


def _filled(rng: random.Random, template: str, language: str, novelty: float) -> str:
    first, second = noun(rng, language, novelty), noun(rng, language, novelty)
    pair, adjective = rng.choice(PAIRS[language]), rng.choice(ADJECTIVES[language])
    return say(
        rng,
        template,
        n=first,
        m=second,
        N=first[:1].upper() + first[1:],
        a=adjective,
        A=adjective[:1].upper() + adjective[1:],
        p=rng.choice(PLACES[language]),
        name=rng.choice(NAMES[language]) if rng.random() > novelty else _named(rng, language),
        date=f"20{rng.randint(24, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        y=rng.randint(2020, 2032),
        mo=rng.randint(1, 12),
        da=rng.randint(1, 28),
        q=rng.randint(1, 4),
        h=rng.randint(1, 12),
        t=rng.randint(2, 60),
        x=rng.choice((rng.randint(1, 9), rng.randint(10, 99), rng.randint(100, 999))),
        x2=f"{rng.randint(0, 99):02}",
        month=rng.choice(MONTHS),
        term=rng.choice(TERMS),
        pair=pair,
        Pair=pair[:1].upper() + pair[1:],
        when=rng.choice(_WHEN[language]),
        When=rng.choice(_WHEN[language]).capitalize(),
        rank=rng.choice(_RANKS[language]),
        Rank=rng.choice(_RANKS[language]).capitalize(),
        titled=rng.choice(("Dr.", "Mr.", "Mrs.", "Ms.", "Prof.")),
        Titled=rng.choice(("Dr.", "Mr.", "Mrs.", "Ms.", "Prof.", "St.")),
        made=invented(rng, "en"),
        latin=rng.choice((invented(rng, "en"), rng.choice(NOUNS["en"]))),
        latin2=invented(rng, "en"),
        box="[ ]",
        ticked="[x]",
    )


def _named(rng: random.Random, language: str) -> str:
    made = invented(rng, language)
    return made[:1].upper() + made[1:]
