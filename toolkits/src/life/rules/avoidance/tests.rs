//! Tests what the list refuses and lets through, its mistakes included.
use super::*;

/// Korean texts that avoid something.
const REFUSED_KO: [&str; 30] = [
    "야식을 먹지 않는다",
    "저녁 커피 안 마시기",
    "밤에 휴대폰 보지 말기",
    "술 금지",
    "담배 끊기",
    "커피를 끊는다",
    "게임 그만하기",
    "늦은 시간 카페인 피하기",
    "단것을 피한다",
    "야식 참기",
    "흡연 욕구를 참는다",
    "스크롤 멈추기",
    "탄산음료 절대 안 마심",
    "침대에서 폰 안 보기",
    "알람 미루지 말자",
    "늦게 자지 않기",
    "과자 안먹기",
    "음주를 삼간다고 말하지 않고 삼가기",
    "소셜 미디어 자제하기",
    "밀가루 없애기",
    "나는 담배를 피우지 않는 사람이다",
    "밤 11시 이후 유튜브 안 봐",
    "나쁜 습관을 그만두기",
    "술자리 중단하기",
    "설탕을 멀리하기",
    "군것질 충동 억제하기",
    "배달 음식 포기하기",
    "폰을 못 하게 서랍에 넣기",
    "더 이상 미루지 말아야지",
    "저녁에 빵 안 사기",
];

/// Korean texts that say what to do.
const ALLOWED_KO: [&str; 40] = [
    "아침에 햇빛을 10분 쬔다",
    "저녁 커피 대신 허브차를 마신다",
    "밤 10시에 휴대폰을 거실에 둔다",
    "나는 아침을 걷기로 여는 사람이다",
    "점심 먹고 10분 산책하기",
    "자기 전에 책 두 쪽 읽기",
    "오후 2시부터 디카페인 마시기",
    "첫 알람에 발을 바닥에 내려놓기",
    "참기름 넣은 나물 먹기",
    "잊지 않고 물 마시기",
    "거르지 않고 아침 먹기",
    "방 안에서 스트레칭하기",
    "집 안 청소하기",
    "30분 안 걷기 목표 채우기",
    "안마 의자에서 10분 쉬기",
    "동네 안 산책로 걷기",
    "끊임없이 배우는 사람 되기",
    "기차표를 끊고 숲으로 가기",
    "포기하지 않고 한 쪽 읽기",
    "나는 마음을 돌보는 사람이다",
    "하루 세 번 멈추고 숨 쉬기",
    "아버지 말씀 듣고 안부 전화하기",
    "강아지 마사지해 주기",
    "채소를 먼저 먹는다",
    "술자리에서 무알코올 음료를 고른다",
    "담배가 당기면 물을 한 잔 마신다",
    "단 음료를 탄산수로 바꾼다",
    "야식 대신 따뜻한 차를 마신다",
    "커피를 하루 한 잔으로 줄이기",
    "휴대폰 알림 끄기",
    "일요일에 안부 전화 걸기",
    "그만큼 천천히 먹기",
    "침실 안 조명 낮추기",
    "4초 들이쉬고 6초 내쉬기",
    "내일 할 일 세 가지를 적는다",
    "참을성 있게 천천히 먹는 사람이다",
    "참고할 책을 매일 읽기",
    "안경 닦고 책상에 앉기",
    "잠깐 멈추기 연습하기",
    "금연 상담 전화에 연락하기",
];

/// English texts that avoid something.
const REFUSED_EN: [&str; 30] = [
    "I don't snack at night",
    "Don’t look at my phone in bed",
    "No coffee after two",
    "Stop scrolling in bed",
    "Quit smoking",
    "Avoid sugar",
    "avoiding late caffeine",
    "Never drink alcohol on weekdays",
    "I will not eat sweets",
    "I won't hit snooze",
    "no more energy drinks",
    "give up chocolate",
    "Cut out soda",
    "Resist the urge to smoke",
    "Refrain from texting in meetings",
    "Abstain from alcohol",
    "I am someone who does not smoke",
    "Eliminate fast food",
    "NO PHONES AT DINNER",
    "get rid of junk food",
    "stay away from cigarettes",
    "I can't have dessert",
    "You must not sit all day",
    "skip dessert",
    "Ban screens from the bedroom",
    "stop eating late",
    "I shouldn't nap after three",
    "quit hitting the snooze button",
    "keep away from the fridge at night",
    "do not check mail before breakfast",
];

/// English texts that say what to do.
const ALLOWED_EN: [&str; 40] = [
    "I drink herbal tea in the evening",
    "Get ten minutes of morning light",
    "I am a person who walks every day",
    "Put my phone in the kitchen at ten",
    "Be in bed no later than eleven",
    "Walk every day, no matter the weather",
    "never skip breakfast",
    "Don't forget to stretch at noon",
    "I choose sparkling water",
    "Get off one bus stop early and walk",
    "stop and breathe three times a day",
    "Skip rope for five minutes",
    "Train with a resistance band",
    "Read two pages before bed",
    "Note three good things each night",
    "Call a friend on Sunday",
    "Eat vegetables first",
    "Have decaf after lunch",
    "I am a calm and rested person",
    "Write tomorrow's plan at five",
    "Turn off notifications during deep work",
    "Swap evening coffee for tea",
    "Drink one glass fewer",
    "Not only walk but also stretch",
    "Cook a bannock on Sundays",
    "Knot practice to calm my hands",
    "Stand up every forty minutes",
    "Put both feet on the floor at the first alarm",
    "Take the stairs at work",
    "Sit in the park for twenty minutes",
    "I am an early riser",
    "Keep the bedroom dark and cool",
    "Chew each bite slowly",
    "Play the piano, nonstop, for ten minutes",
    "Take a short nap before three",
    "Reduce coffee to one cup",
    "Wait ten minutes when the urge comes",
    "Sort my notes at noon",
    "Do the no-equipment workout",
    "Play one song from the album Never Mind",
];

/// Texts written after the list was finished, to measure it on texts that did not shape it.
const UNSEEN_REFUSED: [&str; 20] = [
    "밤에 라면 먹지 않겠다",
    "저녁에는 뉴스를 안 본다",
    "술은 입에도 안 댄다",
    "손톱 물어뜯기 그만",
    "택시 타지 말고 걷기",
    "폰 안보기",
    "군것질하지 않는 나",
    "침대에서 일하는 것 금지",
    "늦잠 안 자기",
    "에너지 음료를 끊었다",
    "I do not smoke",
    "No screens after nine",
    "Quit biting my nails",
    "I will never drink again",
    "Avoid the vending machine",
    "Don't sit for hours",
    "Without sugar from today",
    "Say goodbye to cigarettes",
    "Give up late night gaming",
    "I refuse dessert",
];

/// Texts written at the same time.
const UNSEEN_ALLOWED: [&str; 20] = [
    "새벽에 요가 매트를 편다",
    "퇴근길 한 정거장 걷기",
    "나는 밤마다 책을 읽는 사람이다",
    "도시락에 채소 두 가지 담기",
    "차 안에서 심호흡 다섯 번",
    "안전하게 자전거 타기",
    "엄마에게 안부 메시지 보내기",
    "주말 아침에 참외 먹기",
    "물병을 책상 위에 둔다",
    "운동화를 현관에 꺼내 놓기",
    "쉬지 않고 10분 달리기",
    "I take the stairs to my office",
    "Ten minutes of journaling at night",
    "Lights out at half past ten",
    "I am a person who listens",
    "Walk the dog to the park",
    "Brew mint tea after dinner",
    "Stretch my back at every full stop",
    "Note down what made me smile",
    "Nothing but water with meals",
];

fn refused<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    texts.iter().copied().filter(|text| detect_avoidance(text).is_err()).collect()
}

fn let_through<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    texts.iter().copied().filter(|text| detect_avoidance(text).is_ok()).collect()
}

#[test]
fn korean_avoidance_is_refused() {
    assert_eq!(let_through(&REFUSED_KO), [""; 0]);
}

#[test]
fn english_avoidance_is_refused() {
    assert_eq!(let_through(&REFUSED_EN), [""; 0]);
}

#[test]
fn one_of_40_korean_texts_is_wrongly_refused() {
    assert_eq!(refused(&ALLOWED_KO), ["잠깐 멈추기 연습하기"]);
}

#[test]
fn two_of_40_english_texts_are_wrongly_refused() {
    let names = ["Do the no-equipment workout", "Play one song from the album Never Mind"];
    assert_eq!(refused(&ALLOWED_EN), names);
}

#[test]
fn of_40_unseen_texts_two_are_wrongly_refused_and_four_wrongly_let_through() {
    let wrongly_refused = ["쉬지 않고 10분 달리기", "Stretch my back at every full stop"];
    assert_eq!(refused(&UNSEEN_ALLOWED), wrongly_refused);
    let wrongly_let_through = [
        "택시 타지 말고 걷기",
        "Without sugar from today",
        "Say goodbye to cigarettes",
        "I refuse dessert",
    ];
    assert_eq!(let_through(&UNSEEN_REFUSED), wrongly_let_through);
}

#[test]
fn the_verdict_names_the_wording_and_its_code() {
    let violation = detect_avoidance("담배 끊기").unwrap_err();
    assert_eq!(violation, LifeViolation::Avoidance { found: "끊" });
    assert_eq!(violation.code(), "r7_avoidance");
}

#[test]
fn neither_case_nor_apostrophe_nor_hidden_characters_get_around_the_list() {
    for text in
        ["DON\u{2019}T SNACK", "금\u{200b}지", "\u{1100}\u{1173}\u{11B7}지", "no\u{a0}sugar"]
    {
        assert!(detect_avoidance(text).is_err(), "{text}");
    }
}

#[test]
fn the_readme_has_the_whole_list() {
    let readme = include_str!("../../README.md");
    let lists = [ENGLISH, KOREAN, VERB_ENDINGS, INSIDE, JOINED_NEGATIONS, HARMLESS];
    let missing: Vec<_> =
        lists.concat().into_iter().filter(|word| !readme.contains(&format!("`{word}`"))).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn an_empty_text_avoids_nothing() {
    assert_eq!(detect_avoidance(""), Ok(()));
}
