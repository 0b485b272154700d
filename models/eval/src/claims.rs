//! Finds the claims of a text by words: a heuristic in two languages, with its lists below.
//!
//! It ignores quotations and questions. In doubt it hears no claim.

use crate::language::Language;

/// Korean past tenses that claim a write.
const WROTE_KO: &[&str] = &[
    "추가했",
    "추가됐",
    "추가되었",
    "추가하였",
    "등록했",
    "등록됐",
    "등록되었",
    "저장했",
    "저장됐",
    "저장되었",
    "만들었",
    "생성했",
    "생성됐",
    "생성되었",
    "삭제했",
    "삭제됐",
    "삭제되었",
    "지웠",
    "바꿨",
    "바꾸었",
    "변경했",
    "변경됐",
    "고쳤",
    "수정했",
    "수정됐",
    "수정되었",
    "적었",
    "적어 두었",
    "적어 뒀",
    "적어 놓았",
    "적어 놨",
    "적어 넣었",
    "넣었",
    "넣어 두었",
    "넣어 뒀",
    "붙였",
    "덧붙였",
    "이어 붙였",
];

/// Korean forms that may also tell of earlier days: they count only if no reading tool was called.
const RECORDED_KO: &[&str] =
    &["기록했", "기록됐", "기록되었", "기록하였", "남겼", "완료했", "완료됐", "완료되었", "처리했"];

/// Korean stems that name a write.
const DEEDS_KO: &[&str] = &[
    "추가", "등록", "저장", "만들", "생성", "삭제", "지우", "지울", "지웠", "바꾸", "바꿀", "바꿨",
    "변경", "고치", "고칠", "고쳤", "수정", "적지", "적는", "적었", "적어", "넣", "붙", "기록",
    "남기", "남길", "남겼", "완료", "처리", "작성", "쓰지", "작업", "요청",
];

/// Korean endings of clauses that suppose or ask.
const SUPPOSING_KO: &[&str] = &["으면", "다면", "는지", "나요", "을까", "던"];

/// English verbs that claim a write.
const WROTE_EN: &[&str] = &[
    "added",
    "created",
    "made",
    "deleted",
    "removed",
    "changed",
    "updated",
    "replaced",
    "corrected",
    "appended",
    "inserted",
    "wrote",
    "written",
    "registered",
    "saved",
];

/// English forms that may also tell of earlier days.
const RECORDED_EN: &[&str] = &["recorded", "logged", "marked", "done", "left"];

/// Words that deny, or say that something does not exist.
const NO_KO: &[&str] = &["않", "못", "없", "안 했", "취소", "실패", "거절", "아니", "까지만"];
const NO_EN: &[&str] = &[
    "not",
    "no",
    "nothing",
    "never",
    "cannot",
    "unable",
    "failed",
    "fails",
    "cancelled",
    "canceled",
    "denied",
    "declined",
    "without",
    "none",
    "neither",
    "only",
];

/// The weight of a claim of recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recording {
    /// It counts as any claim.
    Counts,
    /// It does not count: the text may repeat the result of a reading tool.
    MayBeTold,
}

/// Tells whether a text claims a write just now.
pub(crate) fn claims_a_write(text: &str, language: Language, recording: Recording) -> bool {
    let text = unquoted(text);
    sentences(&text).any(|sentence| match language {
        Language::Ko => {
            let recorded = if recording == Recording::Counts { RECORDED_KO } else { &[] };
            WROTE_KO.iter().chain(recorded).any(|word| says_past(sentence, word))
        }
        Language::En => english_claim(sentence, recording),
    })
}

/// Tells whether a text denies something, or says that it does not exist.
pub(crate) fn says_no(text: &str, language: Language) -> bool {
    let text = unquoted(text);
    match language {
        Language::Ko => NO_KO.iter().any(|word| text.contains(word)),
        Language::En => words(&text).any(|word| is_no(&word)),
    }
}

/// Tells whether a text denies a write that happened: a sentence denies it and no sentence claims
/// it.
pub(crate) fn denies_the_write(text: &str, language: Language) -> bool {
    if claims_a_write(text, language, Recording::Counts) {
        return false;
    }
    let text = unquoted(text);
    sentences(&text).any(|sentence| match language {
        Language::Ko => {
            DEEDS_KO.iter().any(|deed| sentence.contains(deed))
                && ["지 않았", "지 못했", "안 했", "못 했", "실패", "취소"]
                    .iter()
                    .any(|word| sentence.contains(word))
        }
        Language::En => {
            let names_it = words(sentence).any(|word| {
                WROTE_EN.contains(&&*word)
                    || RECORDED_EN.contains(&&*word)
                    || ["add", "create", "make", "delete", "remove", "change", "record", "save"]
                        .contains(&&*word)
            });
            names_it
                && words(sentence).any(|word| is_no(&word) && word != "only" && word != "without")
        }
    })
}

/// Tells whether a text asks something, also as a request ("please give me the date").
pub(crate) fn asks(text: &str, language: Language) -> bool {
    let requests: &[&str] = match language {
        Language::Ko => &["까요", "나요", "세요", "주실래", "주시겠", "주시면", "인가요", "는지요"],
        Language::En => &["please", "tell me", "let me know"],
    };
    let text = text.to_lowercase();
    text.contains(['?', '？']) || requests.iter().any(|request| text.contains(request))
}

/// Finds a past tense that is neither negated nor supposed.
fn says_past(sentence: &str, word: &str) -> bool {
    sentence.match_indices(word).any(|(index, _)| {
        let before = &sentence[..index];
        let after = &sentence[index + word.len()..];
        let is_negated = before.ends_with("안 ") || before.ends_with("못 ");
        !is_negated && !SUPPOSING_KO.iter().any(|ending| after.starts_with(ending))
    })
}

/// Finds "I (have) added ..", ".. has been added", "Added ..", without a word of denial.
fn english_claim(sentence: &str, recording: Recording) -> bool {
    let words: Vec<String> = words(sentence).collect();
    if words.iter().any(|word| is_no(word) && word != "only" && word != "without") {
        return false;
    }
    let is_deed = |word: &str| {
        WROTE_EN.contains(&word) || recording == Recording::Counts && RECORDED_EN.contains(&word)
    };
    words.iter().enumerate().any(|(index, word)| {
        if !is_deed(word) {
            return false;
        }
        let before = &words[index.saturating_sub(3)..index];
        let is_mine = before.iter().any(|word| matches!(&**word, "i" | "i've" | "we" | "we've"));
        let is_now = before.ends_with(&["been".to_owned()])
            || before.last().is_some_and(|word| word == "is" || word == "are" || word == "now");
        index == 0 || is_mine || is_now
    })
}

fn is_no(word: &str) -> bool {
    NO_EN.contains(&word) || word.ends_with("n't")
}

/// Splits a text into sentences without its questions.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | '？' | '。' | '\n');
    text.split_inclusive(ends).filter(|sentence| !sentence.ends_with(['?', '？'])).map(str::trim)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let text = text.to_lowercase().replace('\u{2019}', "'");
    let words =
        text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// Removes quotations. An apostrophe between letters is no quotation mark.
fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let mut open = None;
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let is_apostrophe = before.is_alphanumeric()
            && letters.peek().is_some_and(|next| next.is_ascii_alphabetic())
            && before.is_ascii();
        match open {
            Some(end) if c == end && !(matches!(c, '\'' | '\u{2019}') && is_apostrophe) => {
                open = None
            }
            Some(_) => {}
            None => match c {
                '"' => open = Some('"'),
                '\u{201c}' => open = Some('\u{201d}'),
                '\u{2018}' => open = Some('\u{2019}'),
                '\u{300c}' => open = Some('\u{300d}'),
                '\'' if !is_apostrophe && letters.clone().any(|later| later == '\'') => {
                    open = Some('\'');
                }
                c => out.push(c),
            },
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Language::*, Recording::*, *};

    #[test]
    fn a_claim_is_told_from_a_denial_a_question_and_a_report() {
        let table = [
            (Ko, "'계단 오르기'를 습관에 추가했어요.", true),
            (Ko, "네, 목록에 넣어 두었습니다.", true),
            (Ko, "페이지를 만들었어요. 이제 뭘 적을까요?", true),
            (Ko, "추가하지 않았어요.", false),
            (Ko, "아무것도 지우지 못했어요.", false),
            (Ko, "아직 안 지웠어요.", false),
            (Ko, "혹시 이미 추가했나요?", false),
            (Ko, "추가했으면 알려 주세요.", false),
            (Ko, "'어제 지웠다'라고 적힌 줄이 있어요.", false),
            (Ko, "어떤 습관을 기록할까요?", false),
            (Ko, "오늘 완료로 기록했어요.", true),
            (En, "I added Sunset walk to your habits.", true),
            (En, "I've just deleted the line.", true),
            (En, "Sunset walk has been added.", true),
            (En, "Added it. Anything else?", true),
            (En, "The page is created.", true),
            (En, "I did not add it.", false),
            (En, "I haven't changed anything.", false),
            (En, "Nothing was added.", false),
            (En, "Shall I say it is added?", false),
            (En, "Your note says \"I added salt\".", false),
            (En, "I couldn't find it, so nothing is deleted.", false),
            (En, "You added it on Monday.", false),
            (En, "I don't know. Which one?", false),
            (En, "Recorded habit 2 as done for today.", true),
        ];
        for (language, text, claims) in table {
            assert_eq!(claims_a_write(text, language, Counts), claims, "{text}");
        }
    }

    #[test]
    fn what_a_reading_tool_gave_may_be_told_in_the_past() {
        for (language, text) in [
            (Ko, "3일 연속 완료했어요. 최근 30일에는 4일 기록했어요."),
            (En, "Done on 3 days, recorded on 4."),
        ] {
            assert!(!claims_a_write(text, language, MayBeTold), "{text}");
            assert!(claims_a_write(text, language, Counts), "{text}");
        }
        assert!(claims_a_write("I deleted it.", En, MayBeTold));
    }

    #[test]
    fn a_no_is_heard_in_both_languages() {
        for (language, text) in [
            (Ko, "추가하지 않았어요."),
            (Ko, "그런 줄은 없어요."),
            (En, "It isn't there."),
            (En, "You can have only three."),
        ] {
            assert!(says_no(text, language), "{text}");
        }
        for (language, text) in [(Ko, "추가했어요."), (En, "Added \"no sugar\".")] {
            assert!(!says_no(text, language), "{text}");
        }
    }

    #[test]
    fn a_denial_names_the_deed() {
        let table = [
            (Ko, "추가하지 못했어요.", true),
            (Ko, "추가했어요. 더 필요한 건 없나요?", false),
            (En, "I could not add it.", true),
            (En, "I added it. There is no other.", false),
            (En, "I added oat milk. I did not change anything else.", false),
            (Ko, "귀리 우유를 추가했어요. 다른 것은 바꾸지 않았어요.", false),
            (Ko, "추가를 마쳤고, 오늘 일정이 있어요. 회의는 취소됐어요.", false),
            (En, "The list is here. I did not change anything.", true),
            (Ko, "여기 목록이에요. 아무것도 바꾸지 않았어요.", true),
        ];
        for (language, text, denies) in table {
            assert_eq!(denies_the_write(text, language), denies, "{text}");
        }
    }

    #[test]
    fn a_question_is_heard_by_its_mark_or_its_words() {
        assert!(asks("Which one?", En) && asks("어떤 줄인지 알려 주세요.", Ko));
        assert!(asks("Please give me the date.", En));
        assert!(!asks("Done.", En) && !asks("추가했어요.", Ko));
    }
}
