"""Words that dialogues copy: dictionary words, names, and words that nobody has ever used."""

from __future__ import annotations

import random

NOUNS = {
    "ko": """
    물 차 커피 녹차 홍차 우유 두유 주스 콜라 맥주 와인 소주 막걸리 설탕 소금 간식 야식 아침밥 점심 저녁 과일 사과 바나나 포도 딸기 토마토
    당근 양파 마늘 생강 꿀 견과 견과류 아몬드 호두 달걀 계란 두부 콩 현미 보리 귀리 오트밀 빵 국수 라면 김치 된장 생선 연어 고기 닭가슴살
    샐러드 채소 야채 요거트 치즈 버터 초콜릿 사탕 과자 비타민 유산균 오메가 마그네슘 철분 칼슘 단백질 탄수화물 지방 섬유질 수분 카페인 디카페인
    걷기 산책 달리기 조깅 등산 수영 자전거 요가 필라테스 스쿼트 플랭크 푸시업 팔굽혀펴기 윗몸일으키기 줄넘기 계단 스트레칭 근력 유산소 체조
    탁구 배드민턴 테니스 축구 농구 야구 골프 볼링 클라이밍 춤 댄스 훌라후프 아령 덤벨 케틀벨 폼롤러 런지 데드리프트 턱걸이 거북목 허리 어깨 무릎 목 발목
    손목 척추 자세 체중 근육 관절 혈압 혈당 콜레스테롤 심박수 소화 위장 장 피부 눈 시력 귀 코 입술 치아 양치 치실 세수 샤워 반신욕 목욕 족욕 사우나 냉수
    명상 호흡 복식호흡 심호흡 이완 낮잠 베개 이불 침대 침실 커튼 안대 귀마개 알람 기상 햇빛 햇볕 노을 조명 형광등 블루라이트 스마트폰 휴대폰 핸드폰 화면 유튜브
    게임 쇼핑 텔레비전 뉴스 알림 메일 카톡 인스타 스크롤 독서 책 신문 글쓰기 필사 일기 다이어리 가계부 메모 계획 할일 일정 달력 타이머 뽀모도로 영어
    외국어 단어 수학 코딩 악기 피아노 기타 우쿨렐레 노래 그림 색칠 뜨개질 바느질 요리 청소 설거지 빨래 정리 정돈 분리수거 화분 식물 텃밭 강아지 고양이 산 바다
    숲 공원 하늘 구름 별 친구 가족 부모님 엄마 아빠 동생 언니 누나 형 할머니 아이 아기 남편 아내 동료 이웃 선생님 전화 편지 문자 인사 칭찬 감사 사과하기 대화 경청 포옹
    용서 웃음 미소 눈물 화 분노 불안 우울 외로움 슬픔 기쁨 걱정 자존감 자신감 용기 인내 친절 봉사 기부 담배 흡연 금연 술 음주 절주 도박 손톱 다리떨기 지각 미루기
    폭식 과식 군것질 밤샘 늦잠 탄산 카드 지출 저축 복권 출근 퇴근 회의 업무 발표 면접 시험 숙제 필기 복습 예습 강의 학교 회사 사무실 책상 의자 모니터 창문 환기
    공기 온도 습도 가습기 향초 라벤더 허브 캐모마일 쌍화차 보리차 옥수수 감자 고구마 호박 버섯 미역 김 새우 오징어 참치 올리브유 들기름 식초 레몬 자몽 키위 망고 수박
    """.split(),
    "en": """
    water tea coffee milk juice soda beer wine sugar salt snack breakfast lunch dinner fruit apple banana grapes berries tomato carrot onion garlic ginger honey
    nuts almonds walnuts eggs tofu beans rice oats oatmeal bread noodles soup fish salmon meat chicken salad vegetables greens yogurt cheese butter chocolate candy
    cookies vitamins magnesium iron calcium protein carbs fibre fiber hydration caffeine decaf espresso matcha walking walks running jogging hiking swimming cycling
    yoga pilates squats planks pushups stairs stretching strength cardio dancing tennis golf climbing rowing boxing lunges dumbbells posture back shoulders neck knees
    hips ankles wrists spine weight muscles joints digestion gut skin eyes teeth flossing shower bath sauna cold ice meditation breathing breathwork mindfulness relaxing
    naps nap pillow blanket bed bedroom curtains mask earplugs alarm snooze waking sunrise sunset daylight lamp screens phone smartphone youtube games shopping television
    news notifications email messages scrolling reading books novels newspapers writing journaling journal diary budget notes planning plans calendar timer pomodoro
    languages english spanish maths coding piano guitar drums singing drawing painting knitting sewing cooking cleaning dishes laundry tidying recycling plants gardening
    garden dog cat pets mountains beach sea forest park trees clouds stars friends family parents mother father brother sister grandma kids baby partner wife husband
    colleagues neighbours teacher calls letters texting compliments gratitude thanks kindness listening hugs forgiveness laughter smiling tears anger anxiety sadness
    loneliness joy worry confidence courage patience volunteering giving cigarettes smoking vaping alcohol drinking gambling nails procrastination overeating bingeing
    snacking sweets chips burgers pizza spending saving money commute meetings work deadlines presentations interview exam homework lectures school office desk chair
    monitor window air temperature humidity candles lavender herbs chamomile corn potatoes pumpkin mushrooms seaweed shrimp tuna olive vinegar lemon mango melon
    """.split(),
}

ADJECTIVES = {
    "ko": "짧은 긴 가벼운 느린 빠른 따뜻한 차가운 조용한 깊은 작은 큰 새로운 즐거운 맑은 밝은 어두운 부드러운 규칙적인 꾸준한 간단한".split(),
    "en": "short long light slow quick warm cold quiet deep small big new happy clear bright dark soft regular steady simple easy daily weekly evening early late".split(),
}

ANCHORS_WHEN = {
    "ko": [
        "아침 {h}시", "저녁 {h}시", "밤 {h}시", "오전 {h}시", "오후 {h}시", "매일 아침", "매일 밤", "매일 저녁", "매일 아침 {h}시", "매일 밤 {h}시", "평일 아침",
        "주말 오전", "점심시간", "출근길", "퇴근길", "자기 전", "잠들기 전", "일어나자마자", "오후 {h}시 {m}분", "아침 {h}시 반", "새벽 {h}시", "월요일 저녁",
        "출근하기 전", "매주 일요일", "토요일 아침", "{h}시", "{h}시 {m}분", "밤 {h}시 반", "식사 전",
    ],
    "en": [
        "{h} am", "{h} pm", "{h}:{m} am", "{h}:{m} pm", "every morning", "every evening", "every night", "noon", "lunchtime", "before bed", "before breakfast",
        "before work", "in the morning", "in the evening", "on weekdays", "on Sundays", "every day at {h} pm", "every Monday", "midnight", "sunrise", "{h} o'clock",
        "during lunch", "on my commute", "before dinner", "weekends",
    ],
}

ANCHORS_AFTER = {
    "ko": [
        "양치한 뒤", "세수한 다음", "점심 먹은 뒤", "저녁 식사 후", "아침 식사 후", "샤워한 뒤", "커피를 내린 다음", "퇴근한 뒤", "출근 후", "일어난 뒤", "설거지를 마친 다음",
        "회의가 끝난 뒤", "아이를 재운 뒤", "강아지 산책 후", "운동을 끝낸 뒤", "책상에 앉은 다음", "문을 잠근 뒤", "{n:을} 정리한 뒤", "{n:을} 치운 다음", "{n} 후",
        "{n:을} 끝낸 뒤", "알람을 끈 다음", "옷을 갈아입은 뒤", "집에 도착한 다음", "물을 마신 뒤",
    ],
    "en": [
        "brushing my teeth", "washing my face", "lunch", "dinner", "breakfast", "my shower", "making coffee", "work", "waking up", "doing the dishes", "the last meeting",
        "putting the kids to bed", "walking the dog", "my workout", "sitting down at my desk", "locking the door", "my {n}", "the {n}", "school", "I get home",
        "feeding the cat", "turning off the alarm", "getting dressed", "the news", "putting away the {n}",
    ],
}

DOSES = {
    "ko": ["{n}분", "{n}번", "{n}잔", "{n}쪽", "{n}시간", "{n}회", "{n}개", "{n}걸음", "{n}페이지", "{n}초", "{n}세트", "{n}줄", "{n}킬로", "반 잔", "한 잔", "두 잔", "한 쪽", "세 번", "30분"],
    "en": ["{n} minutes", "{n} times", "{n} cups", "{n} pages", "{n} glasses", "{n} steps", "{n} sets", "{n} minutes a day", "one cup", "half an hour", "{n} seconds", "an hour", "{n} lines", "ten minutes", "twenty minutes", "one page"],
}

FRAMED = {
    "ko": [
        "나는 {a} {n:을} 즐기는 사람이다", "매일 {n:을} 챙긴다", "{n:과} 함께 하루를 시작한다", "나는 {n:을} 돌보는 사람이다", "{a} {n:으로} 하루를 연다", "오늘도 {n} 한 번",
        "{n:을} 하며 쉬어 간다", "{n} 대신 {m:을} 고른다", "나는 {a} 하루를 산다", "{n:을} 먼저 한다", "내 몸을 아끼는 사람", "{n:과} {m:을} 챙기는 나", "천천히 {n}", "아침마다 {n}",
        "나는 밤마다 {n:을} 한다", "{a} {n} 시간 갖기", "{n} 한 걸음씩", "나를 위한 {n}", "{n:이} 있는 저녁", "{n:으로} 나를 돌본다",
    ],
    "en": [
        "I am someone who enjoys {n}", "I take time for {n}", "I start my day with {n}", "{n} comes first", "I choose {n} over {m}", "a {a} moment of {n}", "I look after my {n}",
        "My {a} {n} time", "I make room for {n} and {m}", "one step of {n} a day", "I am a {a} person", "I love my {n}", "{a} mornings with {n}", "I care for myself with {n}",
        "Every day a little {n}", "I enjoy {a} evenings", "I keep my {n} {a}", "time for {n}", "I end the day with {n}", "I am kind to my body",
    ],
}

NOTES = {
    "ko": [
        "{n} 때문에 조금 힘들었음", "{a} 하루였다", "{n:과} 같이 함", "비가 와서 짧게", "컨디션 좋음", "몸이 안 좋았음", "{m} 먹고 했음", "생각보다 쉬웠다", "{n:이} 도움이 됐다", "{t}분 정도",
        "기분이 좋았다", "내일은 더 길게", "출장 중", "{n} 챙김", "{a} {n}", "야근함", "피곤했지만 해냄", "아침에 함", "회식", "감기 기운",
    ],
    "en": [
        "felt {a}", "a bit tired because of {n}", "with my {n}", "rainy day, kept it short", "felt great", "was sick", "easier than I thought", "{n} helped", "about {t} minutes",
        "good mood", "longer tomorrow", "travelling", "{a} {n}", "worked late", "did it in the morning", "busy with {n}", "went well", "a cold", "only half of it", "after {m}",
    ],
}

NAMES = {
    "ko": "민준 서연 도윤 하은 지호 수아 예준 지우 시우 서현 유진 은서 현우 지민 태현 다은 승우 채원 영희 철수".split(),
    "en": "Alex Sam Maya Leo Nina Omar Ruth Ivan Chloe Ben Aisha Tom Yuki Priya Karl Elena Noah Zoe Hugo Mina".split(),
}

_COMMON_SYLLABLES = tuple(
    char
    for high in range(0xB0, 0xC9)
    for low in range(0xA1, 0xFF)
    for char in [bytes((high, low)).decode("euc-kr")]
)
_PARTICLE_LIKE = frozenset("을를이가은는에의로도만와과랑나중관")
_ONSETS = "b c d f g h j k l m n p r s t v w z br ch cl cr dr fl gl gr pl pr sh sk sl sp st th tr".split()
_RHYMES = "a e i o u ai ea ee oo ou ab ad ag al am an ap ar at ed el em en er et id il im in ip it ob od ol on op or ot ub ug ul um un up ur".split()


def invented(rng: random.Random, language: str) -> str:
    """Makes up a word."""
    if language == "ko":
        length = rng.choice((2, 2, 3, 3, 4))
        while True:
            word = "".join(rng.choice(_COMMON_SYLLABLES) for _ in range(length))
            if word[-1] not in _PARTICLE_LIKE:
                return word
    return "".join(rng.choice(_ONSETS) + rng.choice(_RHYMES) for _ in range(rng.choice((2, 2, 3))))


def noun(rng: random.Random, language: str, novelty: float) -> str:
    """A noun, made up with the given probability."""
    return invented(rng, language) if rng.random() < novelty else rng.choice(NOUNS[language])
