//! Says why a call failed: in the words of the tool if they are for people, and else by the code.

use madang::{event::plain, tool::Locale};

/// The characters of a reason that are shown.
const MAX_CHARS: usize = 200;

/// Says why a call failed. What a tool says counts only if it `is_ours`: it is said in the words of
/// the model, without quotation marks, so another tool could claim anything.
pub(super) fn reason(code: &str, said: &str, is_ours: bool, locale: Locale) -> String {
    if is_ours && is_for_people(said, locale) {
        sentence(said)
    } else {
        by_code(code, locale).to_owned()
    }
}

/// Returns whether a reason is in the language of the person, and names no part of a program.
fn is_for_people(said: &str, locale: Locale) -> bool {
    let words = unquoted(said);
    let is_hangul = |letter: char| ('가'..='힣').contains(&letter);
    let is_of_program = words.contains(['{', '}', '[', ']', '_', '/', '<', '>', '"', '\\']);
    let is_in_language = if locale.pick(true, false) {
        words.contains(is_hangul) && !has_latin_word(&words)
    } else {
        words.contains(|letter: char| letter.is_ascii_alphabetic())
            && !words.contains(is_hangul)
            && !has_joined_words(&words)
    };
    !is_of_program && is_in_language
}

/// Returns whether a text has two small Latin letters in a row. Abbreviations have capitals.
fn has_latin_word(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| pair.iter().all(u8::is_ascii_lowercase))
}

/// Returns whether a text has a name such as `pageId`.
fn has_joined_words(text: &str) -> bool {
    text.as_bytes()
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

/// Removes quotations, which are the person's own words.
fn unquoted(text: &str) -> String {
    let mut words = String::new();
    let mut is_open = false;
    let mut is_escaped = false;
    for letter in text.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_open => is_escaped = true,
            '\'' => is_open = !is_open,
            _ if is_open => {}
            letter => words.push(letter),
        }
    }
    words
}

/// Writes a reason on one line, as a sentence.
fn sentence(said: &str) -> String {
    let shown: String = said.trim().chars().take(MAX_CHARS).collect();
    let is_cut = shown.len() < said.trim().len();
    let mut letters = shown.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let shown: String = first.into_iter().chain(letters).collect();
    let end = match shown.chars().last() {
        _ if is_cut => "…",
        Some('.' | '!' | '?') => "",
        Some(_) | None => ".",
    };
    format!("{}{end}", plain(&shown))
}

fn by_code(code: &str, locale: Locale) -> &'static str {
    match code {
        "not_found" => locale.pick("찾는 것이 없습니다.", "It was not found."),
        "validation" => locale
            .pick("요청에 맞지 않는 값이 있습니다.", "The request has a value that does not fit."),
        "page_gone" => locale
            .pick("열려 있던 페이지가 삭제되었습니다.", "The page that was open has been deleted."),
        "unknown_tool" => locale.pick("그런 도구가 없습니다.", "There is no such tool."),
        "overloaded" => locale.pick(
            "지금은 요청이 너무 많습니다. 잠시 뒤에 다시 시도해 주세요.",
            "Too much is going on right now. Please try again in a moment.",
        ),
        "store" => locale.pick("저장소를 쓸 수 없습니다.", "The store is not available."),
        "timeout" | "handler_error" => locale.pick(
            "도구에 문제가 있었습니다. 적용되었는지 직접 확인해 주세요.",
            "The tool had a problem. Please check whether it took effect.",
        ),
        _ => locale.pick("도구가 거절했습니다.", "The tool refused it."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_for_people_is_told_and_another_is_not() {
        for (locale, said, told) in [
            (
                Locale::KO,
                "만들기 습관은 동시에 3개까지만 할 수 있습니다.",
                "만들기 습관은 동시에 3개까지만 할 수 있습니다.",
            ),
            (Locale::KO, "'Plan' 페이지를 찾을 수 없습니다.", "'Plan' 페이지를 찾을 수 없습니다."),
            (Locale::KO, "인자 오류: /habit_id: 필수입니다", "요청에 맞지 않는 값이 있습니다."),
            (
                Locale::KO,
                "기록 값은 done 또는 blank여야 합니다.",
                "요청에 맞지 않는 값이 있습니다.",
            ),
            (Locale::KO, "It is not there.", "요청에 맞지 않는 값이 있습니다."),
            (Locale::EN, "there is no page 'Plan'.", "There is no page 'Plan'."),
            (
                Locale::EN,
                "give one of pageId and pageTitle.",
                "The request has a value that does not fit.",
            ),
            (Locale::EN, "없습니다.", "The request has a value that does not fit."),
            (Locale::EN, "{\"x\":1}", "The request has a value that does not fit."),
            (Locale::EN, "", "The request has a value that does not fit."),
        ] {
            assert_eq!(reason("validation", said, true, locale), told);
        }
    }

    #[test]
    fn a_hostile_reason_is_one_short_line() {
        let said = format!("no\u{1b}[2J\nway {}", "x".repeat(9_000));
        let told = reason("odd", &said, true, Locale::EN);
        assert!(told.chars().count() < 2 * MAX_CHARS && !told.contains(char::is_control), "{told}");
        assert_eq!(reason("odd", "no\nway", true, Locale::EN), "No\\u{a}way.");
    }
}
