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
        "{n} 모음", "{n} 문제 모음", "{n} 오답 정리", "{n} 기말 {m}", "{n} 중간고사 범위", "{n} 수업 {x}주차", "{n} {x}교시", "{n} 과제 {x}", "{n} 발표 대본", "{n} 면접 질문", "{n} 견적 비교", "{n} 설치 방법", "{n} 비밀번호", "{n} 신청 서류", "{n} 준비물", "{n} 예산안 {y}", "{n} 회의 {mo}/{da}", "{mo}/{da} {n}", "{mo}.{da} {n}", "{y}.{mo} {n}", "{n} 최종", "{n} 최종_{x}", "{n}_{m}", "{n} 초안", "{n} (임시)", "{n} - {m}", "{n} + {m}", "{n}, {m} 정리", "{n} vs {m}", "{n}할 때 {m}", "왜 {n}인가?", "{n}의 모든 것", "{n:과} {m}", "{n:이랑} {m} 비교", "{n} 때문에 {m}", "{name}네 {n}", "{name} 어린이집 {n}", "{name} 학부모 상담", "{name} 팀장님 {n}", "{name} 결혼식 {n}", "{name:이랑} {p} {x}박", "엄마 {n}", "아빠 생신 {n}", "할머니 {n}", "우리 반 {n}", "우리 팀 {n} {m}", "{p} 이사 {n}", "{p} {n} 코스", "{p} 숙소 비교", "{p} {x}일 일정", "{when} {n} {m}", "{when} 할 일", "{when} 식단", "{q}분기 {n} {m} 보고", "{y}년 {mo}월 {n}", "{y} 상반기 {n}", "{n} to do", "{n} TODO", "my {n}", "{n} review", "{n} 플랜 B", "{n} PPT", "{n} MVP 기획", "{term} 사용법", "{term} 회의 {x}", "{term} & {n}", "{term} {n} 가이드", "{a} {n} 만들기", "{n} {m} {when} 버전", "{pair} 계획", "{pair} {x}일차", "냉장고 파먹기", "약 먹는 시간", "육아 일기", "시험 범위", "업무 인계", "연말정산", "집들이", "{n:을} 위한 {m}", "그날의 {n}", "{n}!", "{n} #{x}", "{n} {x}탄", "{n} ver.{x}", "제{x}회 {n}",
    ],
    "en": [
        "{N}", "{n}", "{N} {m}", "{n} {m}", "{When} {n}", "{Rank} {n}", "{N} {x} {m}", "{N} {x} {m}", "{Titled} {name}", "{N} for {titled} {name}", "{titled} {name}'s {n}", "{N} no. {x}", "{N} vs. {m}", "{N} to {m}", "{N} of the {m}", "{N} notes", "{n} notes", "{N} meeting", "{N} plan", "{n} list", "{N} log", "{N} ideas", "{n} ideas", "{N} budget", "{N} recipes", "{n} journal", "{N} project", "{N} report", "{n} to do", "{A} {n}", "{a} {n} {m}", "Trip to {p}", "{p} trip", "{p} 20{x2}", "{name}", "{name}'s birthday", "Talk with {name}", "{date} daily note", "{date}", "{date} {n}", "20{x2} {n}", "{N} 20{x2}", "{month} {n}", "{month} 20{x2}", "Q{q} {n}", "Weekly {n}", "Daily {n}", "Monthly {n}", "Team {n}", "My {n}", "Our {n}", "{N} v{x}", "{n} {x}", "{term} {n}", "{term}", "{N} ({m})", "{N}: {m}", "{N}/{m}", "{N} & {m}", "{Pair}", "{pair} notes", "Reading list", "Groceries", "Minutes", "Diary", "Bucket list", "{N} checklist", "{N} review", "{N} handover", "Project {N}", "{n} and {m}", "Chapter {x}",
        "Things to ask {name} about the {n}", "What I learned in {month}", "House rules for {name}", "[Mum|Dad|Grandma|Grandpa|Aunt {name}]'s {n}", "[Mum|Dad|Grandma]'s [birthday|recipes|{n} recipe]", "[Meeting|Call|Lunch|Interview] with {name}", "[Meeting|Call|Talk|Kick-off] {month} {da}", "Minutes {date}", "Standup {date}",
        "1:1 with {name}", "1:1 {name}", "Sprint {x}", "Sprint {x} retro", "[Roadmap|OKRs|Goals|Taxes|Budget|Holidays] 20{x2}", "Year {x} [maths|biology|history|English]", "[Maths|Physics|History|Biology|English] [homework|exam|notes|revision]", "[Maths|Chemistry|History] chapter {x}", "Exam prep: {n}",
        "Essay on {n}", "Thesis outline", "[Lecture|Lesson|Week|Day|Episode|Unit] {x}", "[Lecture|Lesson|Week|Day|Episode] {x}: {n}", "[Kitchen|Bathroom|Garden|Balcony|Garage] [renovation|ideas|repairs|plan]", "[Garden|Kitchen|Cellar|Pantry] {n}", "Moving house", "Moving to {p}", "[Car|Bike|Boiler|Flat|Roof] repairs",
        "New [flat|car|job|laptop|kitchen]", "[Dinner|Breakfast|Lunch] ideas", "Meals for week {x}", "Weekend in {p}", "{p} with {name}", "Flights to {p}", "[Packing|Packing list] for {p}", "Christmas [presents|cards|dinner 20{x2}]", "Gifts for {name}",
        "Birthday party {name}", "[Books|Films|Songs|Games] to [read|see|try|buy]", "[Books|Films] of 20{x2}", "Quotes I like", "Dreams", "Ideas", "Inbox", "Scratchpad", "Random thoughts",
        "Misc", "TODO", "To do", "FAQ", "CV", "DIY", "Recipes", "Emergency contacts",
        "Doctor's appointments", "{name} and {n}", "{N}, {n} and {m}", "{N} & co.", "{N} (draft)", "{N} (old)", "{N} [draft|final|backup|old version|v2]", "{N} - {m}", "{N} – {month} {da}",
        "{date} - {N}", "The {a} {n}", "How to [cook|clean|fix|plant|store] {n}", "How I [quit|started|learned] {n}", "Why {n}?", "{n} in {p}", "{p} {n} {x}", "{p}, {month} 20{x2}",
        "[ABC|XYZ|HR|IT|PR|QA|API|UX] {n}", "[HR|IT|QA|API|UX|CRM] [meeting|docs|onboarding|notes]", "[Release|Version] {x}.{q}", "[Client|Customer|Supplier] {name}", "[Book|Film|Choir|Running|Chess] club", "[서울|부산|제주|대구] [trip|{n}|20{x2}]", "[김치|비빔밥|불고기|떡볶이|잡채] [recipe|notes]", "Korean [words|grammar|lesson {x}]", "{N} 정리",
        "TOPIK {x}", "all about {n}", "{n} stuff", "{n} for {m}", "stuff for {name}", "Questions for the [doctor|landlord|teacher|bank]", "Before we go to {p}", "The [big|long|final] {n} [list|plan|overview]", "{x} ideas for {n}",
        "{x} {n}", "Plan B", "Letter to {name}", "[School|Kindergarten|Football|Piano|Swimming]: dates", "[Household|Family|Class|Office] {n}",
    ],
}
LINES = {
    "ko": [
        "{n} 사기", "{n} 사기", "{n} {m}", "{n}", "{n} 확인하기", "{n} 예약", "{n} 주문", "{name}에게 전화", "{name:과} 점심", "{name}에게 {n} 보내기", "{h}시에 {n}", "오후 {h}시 {n}", "{mo}월 {da}일 {n}", "{date} {n}", "{n} {x}개", "{n} {x}분", "{n} {x}병", "{n} {x}만 원", "예산은 {x}만 원", "{n:은} {m}보다 {a} 편이다", "{n:을} {m}에 넣기", "{n:이} {a} 이유", "## {n}", "### {n} {m}", "- {box} {n} 사기", "- {ticked} {n} {m}", "**{n}** {m}", "{n}: {m}", "{n} - {m}", "{n} ({x})", "{n}, {m}", "{term} {n}", "{a} {n}", "{a} {n} {m} 준비", "다음 회의는 {mo}월 {da}일", "담당은 {name}", "{p} 가는 표 예매", "{n}/{m} 비교", "{x}% 할인", "{n} #{x}", "{pair}", "{pair} 하기", "비밀번호 바꾸기", "와이파이 비번 {made}{x}", "https://{latin}.com/{latin2}", "{latin}@{latin2}.com", "010-{x2}{x2}-{x2}{x2}", "{n:이라고} 들었다", "{n:을} 잊지 말자", "왜 {n:이} 필요한가?", "{n} 좋음!", "{n} → {m}", "{n} + {m}", "{framed}", "{framed}", "{note}", "{note}",
        "{n} 두 봉지", "{n} 한 상자 주문", "{n} {x}그램", "{n} {x}kg 주문하기", "{n} 1+1 행사", "{n:이랑} {m} 사 오기", "{n} 사고 {m} 맡기기", "{n} 떨어지면 {m:으로} 대신하기", "{n} 유통기한 {mo}월 {da}일", "{n} 반품하기", "{n} 영수증 챙기기", "세탁소에 {n} 맡기기", "관리비 내기", "월세 {x}만 원 보내기", "{n} 값 {x}000원", "{n} 회비 {x}만원 입금", "치과 {h}시 반", "병원 예약 {mo}/{da} {h}시", "{name} 예방접종 {mo}월 {da}일", "엄마 {n} 챙겨 드리기", "아이 {n} 준비물 챙기기", "{name} 하원 {h}시", "{name} 생일 선물 고르기", "{name:이랑} 저녁 {h}시", "{name:과} {p}에서 {h}시에 만나기", "할머니 댁에 {n} 보내기", "수학 숙제 {x}쪽까지", "{n} 시험 범위 {x}쪽부터", "{n} 과제 {da}일까지 제출", "발표 {x}분, 질문 {h}분", "{name} 교수님께 {n} 여쭤보기", "{name} 대리님께 {n} 자료 요청", "{name} 과장님이 {n} 먼저 하라고 하심", "회의실 {x}호 {h}시 예약", "{n} 보고서 {q}분기 수치 고치기", "{n} 안건: {m}, 예산, 일정", "PPT {x}장 수정해서 {name}에게 보내기", "deadline {mo}/{da}", "TODO {n} {m} 확인", "todo: {n}", "{n} review 하기", "{term} 설정 확인하고 {name}에게 알려 주기", "{term} 계정 {latin}{x}", "{latin} 로그인 안 됨", "{x}번 버스 타고 {p} 가기", "{h}시 {t}분 {p}행 기차", "{p} 숙소 체크인 {h}시", "{p}에서 {n} 꼭 먹어 보기", "택배 보내기 ({n})", "차 번호 {x2}가 {x2}{x2}", "현관 비밀번호 {x2}{x2}#", "{n} 약 하루 {h}번", "{n:은} 월요일에 버리기", "{n} 안 되면 {m:으로} 바꾸기", "{n} 지우고 {m} 새로 쓰기", "{n} 다시 확인할 것", "{n:은} 왜 항상 {a} 걸까", "{a} {n:이} {m}보다 나을 수도 있다", "오늘은 {n} 때문에 {a} 하루였다", "{when}부터 {n} 줄이기로 했다", "{name} 선생님이 {n:은} {mo}월 {da}일까지 내라고 하심", "지난번보다 {n:이} {x}개 줄었으니 {m}도 확인하기", "{n:을} 먼저 하고 {m:은} 나중에", "{n} (급함)", "{x}. {n}", "1) {n} 2) {m}", "{n}~{m} 구간", "{n} {x}/{x2}", "{h}:{x2} {n}", "#{n} #{m}", "@{name} {n} 부탁", "{n} = {m} x {h}", "{n} 잘 부탁드립니다", "{n} 좀 천천히 하자",
        "{framed}", "{framed}", "{note}", "{note}",
    ],
    "en": [
        "buy {n}", "Buy {n}", "buy {n} and {m}", "{n}", "{n} {m}", "call {name}", "call {titled} {name} about the {n}", "Call {name} about {n}", "send {n} to {name}", "lunch with {name}", "Ask {name} for the {n}", "{n} at {h}", "{n} at {h} pm", "meet {name} at {h}:30", "{month} {da}: {n}", "{date} {n}", "{x} {n}", "{x} grams of {n}", "{n}, {m}", "budget: {x}00", "the {n} is {a}", "The {a} {n} needs {m}", "## {N}", "### {N} and {m}", "- {box} buy {n}", "- {ticked} {n} {m}", "**{n}** {m}", "{n}: {m}", "{n} - {m}", "{n} ({x})", "{term} {n}", "{a} {n}", "check the {n}", "order {x} {n}", "book {n} in {p}", "flight to {p} on {month} {da}", "next meeting: {month} {da}", "owner: {name}", "{x}% off {n}", "{n} #{x}", "{pair}", "{pair} today", "change the password", "wifi: {made}{x}", "https://{latin}.com/{latin2}", "{latin}@{latin2}.com", "555-{x2}{x2}", "don't forget the {n}", "why {n}?", "{n} works!", "{n} -> {m}", "{n} + {m}", "It's {a}, {n} isn't", "{framed}", "{framed}", "{note}", "{note}",
        "[pick up|collect|drop off|call for] [{name}|the kids|the parcel|the dry cleaning] at {h}", "pick up {name} from [school|the station|football|the airport]", "[dentist|doctor|hairdresser|vet|parents' evening] [on |]{month} {da}[, {h}:30| at {h}|]", "[dentist|vet|optician|bank] at {h}:15", "[pay|cancel|renew|check] the [rent|electricity bill|gym membership|insurance|passport|car tax]", "[pay|transfer] {x} [euros|pounds|dollars] to {name}", "rent is due on the [1st|3rd|15th|22nd|28th]", "[water|feed] the [plants|cat|fish|dog] [every morning|on {month} {da}|while we're away]", "[take out|put out] the [bins|rubbish|recycling]",
        "[fix|replace|clean|paint] the [bike|tap|fridge|lamp in the hall|fence]", "[return|renew] the library books by {month} {da}", "[hand in|finish|print|revise for] the [essay|report|homework|maths exam]", "maths homework p. {x}, no. {da}", "read chapter {x}", "read pp. {x}-{x2}", "essay due {month} {da}", "[email|text|ring|thank|invite] {name}", "[email|text|ring] {name} about the {n}",
        "ask {name} [if|whether] she wants {n}", "tell {name} that the {n} is {a}", "{name} will bring the {n}", "{name} said the {n} was {a}", "{name} is allergic to {n}", "{name} can't come on {month} {da}", "{name}: {n}", "{name} & {name} at {h}", "{name}'s number is 0{x2}{x2} {x}{x2}",
        "{name} owes me {x} [euros|pounds|dollars]", "{x} [litres|kg|packets|bottles|cans|bags|slices] of {n}", "{x} kg {n}", "{x}g {n}, {m}", "a [loaf|bag|bottle|dozen|bunch] of {n}", "half a [kilo|litre|pound] of {n}", "{n} (the {a} one)", "{n} (not {m})", "{n} or {m}",
        "{n} and {m}", "{n}, {m} and {pair}", "{n} for {name}", "{n} for the [party|kids|weekend|freezer]", "no more {n}", "[milk|eggs|bread|butter|toilet paper|washing powder|bin bags|light bulbs|batteries|nappies|stamps]", "[oat milk|cat food|dish soap|cling film|kitchen roll|baking powder]",
        "[eggs, milk|bread and butter|salt & pepper|fish 'n' chips]", "[team|budget|project|status] meeting [moved to|is on|at] {h} pm", "meeting room {x}, {h}:30", "[deadline|launch|demo|review]: {month} {da}", "{n} deadline is {month} {da}", "Q{q} numbers are {a}", "budget approved: {x},000", "send the [invoice|contract|slides|minutes] to {name}", "[book|cancel|confirm] the [hotel|table|train|taxi|flight] for {month} {da}",
        "train {h}:{da} from platform {q}", "flight [KE|LH|BA|OZ]{x} at {h}:45", "gate [A|B|C]{da}, boarding at {h}:20", "booking code [XK|QP|ZR]{x}", "the hotel in {p} has {n}", "[passport, charger, tickets|sun cream and hats|phone charger|travel adapter]", "the [key|spare key|code] is [under the mat|with {name}|{x}{x2}]", "door code #{x}{x2}", "order no. {x}-{x2}",
        "[size|shoe size] {da}", "[18|20|25]°C in {p}", "{x}% done", "{q}/4 done", "{h} am: {n}", "{h}:00 - {m}", "[Mon|Tue|Wed|Thu|Fri|Sat|Sun]: {n}", "[Monday|Tuesday|Wednesday|Friday|Saturday] {n} with {name}", "[every|each] [Monday|Friday|Sunday] {n}",
        "[important|urgent|NB|PS|FYI]: {n} {m}", "[IMPORTANT|URGENT|TODO|ASAP]: {n}", "[TODO|FIXME] {n} {m}", "Who brings the {n}?", "What about the {n}?", "How much is {n}?", "Is {name} coming?", "Remember: {n} before {m}", "Never {n} without {m}!",
        "I'd like to try {n}", "We're meeting {name} in {p}", "We need {n} for the {m}", "I think {n} is better than {m}", "The {n} arrives on {month} {da}", "It's {name}'s turn to buy {n}", "Let's not forget {n}", "if it rains, {n}", "once the {n} is {a}, call {name}",
        "first {n}, then {m}", "{n} / {m}", "{n} = {m}", "{n} vs {m}", "{n} @ {p}", "{n}... maybe", "({n})", "{n}!!",
        "1. {n}", "{q}) {n}", "* {n}", "김치 {x} kg", "[고추장|된장|참기름|라면|두부|김] and {n}", "{n} = [안녕하세요|감사합니다|사랑해요|맛있어요]", "[엄마|아빠|할머니|선생님] call at {h}", "say [생일 축하해|고마워|잘 자] to {name}", "[good|bad] news from {name}",
        "[slept|ate|ran|trained] well", "today was {a}", "grateful for {n}", "[new|old] address: {x} [Main|Church|Station|Mill] [Street|Road]", "the wifi at {name}'s is {made}", "the kids need {n} for school", "school trip to {p} on {month} {da}", "bring {x} pounds for the school trip", "[swimming|football|piano|ballet] at {h}",
    ],
}
FOLDERS = {"ko": "프로젝트 업무 개인 회의 여행 가족 학교 공부 자료 보관함 일지 2026 연구 취미 집 재무 독서 육아 건강 레시피 수업 과제 동아리 고객 우리팀 2025 기획 운동 부동산 Work".split(), "en": "Projects Work Personal Meetings Travel Family School Study Archive Journal 2026 Research Hobby Home Finance Reading".split()}
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
    "ko": "장보기,장보기 목록,쇼핑 리스트,할 일,할 일 목록,준비물,회의록,여행 계획,버킷리스트,위시리스트,독서 목록,가계부,아이디어 노트,식단표,짐 목록,선물 목록,할일,투두리스트,to-do 리스트,오늘 할 일,이번 주 할 일,집안일,공부 계획,시간표,숙제 목록,업무 일지,육아 일기,운동 일지,여행 준비물,캠핑 준비물,출장 준비물,이사 체크리스트,결혼 준비,맛집 리스트,보고 싶은 영화,읽고 싶은 책,살 것,약 먹는 시간,용돈 기입장,감사 일기".split(","),
    "en": "shopping list,grocery list,to-do list,packing list,wish list,reading list,bucket list,meeting notes,gift list,travel plan,recipe notes,idea list,watch list,chores list,meal plan,todo list,to do list,book list,party list,guest list,birthday list,holiday list,project notes,lecture notes,class notes,travel notes,workout log,food diary,journal,diary,budget,weekly plan,study plan,training plan,movie list,Christmas list,camping list,hardware store list".split(","),
}
_LISTED = {"ko": "목록 리스트 노트 메모장 일지 계획 회의록 체크리스트 모음 일기 준비물 일정표 to-do".split(), "en": "list list notes notes log plan ideas checklist journal diary tracker budget wishlist schedule".split()}


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
    "ko": ["{n}", "{n}", "{n}", "{n} {m}", "{n} 사기", "{n} {x}개", "{a} {n}", "{pair}", "{name}에게 전화", "{n} 예약", "{term}", "{h}시 {n}", "{n} 준비", "{n} 정리", "{n} 한 봉지", "{n} 두 개", "{n} 챙기기", "{n} 맡기기", "{n} 바꾸기", "{n} 예약 확인", "{n} {x}그램", "{n} {x}쪽", "{name} 선물", "{name:과} 저녁", "{name:이랑} 점심", "엄마 {n}", "관리비 내기", "택배 보내기", "{mo}월 {da}일 {n}", "{mo}/{da} {n}", "{p} 숙소", "{when} {n}", "{n} 메일 답장", "{term} {n}", "{a} {n} 사기"],
    "en": ["{n}", "{n}", "{n}", "{n} {m}", "buy {n}", "{x} {n}", "{a} {n}", "{pair}", "call {name}", "{N}", "{term}", "{n} at {h}", "check {n}", "order {n}", "[milk|eggs|bread|butter|toilet paper|bin bags|batteries|stamps|oat milk|cat food]", "{x} [litres|kg|packets|bottles] of {n}", "{n} for {name}", "[pay|check] the [rent|insurance|electricity bill]", "[email|text|ring] {name}", "book the [hotel|table|dentist]", "[water the plants|feed the cat|take out the bins]", "pick up {name}", "[Mon|Tue|Fri]: {n}", "{n} ({x})", "[passport|sun cream|phone charger|tent|hiking boots]", "read chapter {x}", "finish the {n}", "{N} {m}", "[tomatoes|onions|rice|apples|chicken|pasta|yoghurt]"],
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
