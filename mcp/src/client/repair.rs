//! Makes JSON of what is nearly JSON: halves of surrogate pairs, numbers that JSON does not have,
//! and control characters.

use std::{borrow::Cow, fmt::Write as _};

use super::decimal::keeps_its_digits;

/// Returns the text with U+FFFD for each half of a surrogate pair, and `null` for each number that
/// JSON does not have. A control character in a string becomes an escape. Servers in JavaScript and
/// Python write all of these. A number that would lose digits when it is read becomes a string of
/// them.
pub(super) fn repaired(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(quote) = rest.find('"') {
        copy_values(&rest[..quote], &mut made);
        rest = copy_string(&rest[quote + 1..], &mut made);
    }
    copy_values(rest, &mut made);
    made
}

/// Copies what is between two strings.
fn copy_values(text: &str, made: &mut String) {
    let is_of_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '+' | '.');
    let mut rest = text;
    while let Some(begin) = rest.find(is_of_word) {
        made.push_str(&rest[..begin]);
        let word = &rest[begin..];
        let (word, behind) =
            word.split_at(word.find(|letter| !is_of_word(letter)).unwrap_or(word.len()));
        made.push_str(&readable(word));
        rest = behind;
    }
    made.push_str(rest);
}

/// Returns a word such as `true` or a number, written so that all of it is read.
fn readable(word: &str) -> Cow<'_, str> {
    let Ok(number) = word.parse::<f64>() else { return Cow::Borrowed(word) };
    let begins_as_number = word.trim_start_matches('-').starts_with(|it: char| it.is_ascii_digit());
    if begins_as_number && !keeps_its_digits(word) {
        return Cow::Owned(format!("\"{word}\""));
    }
    // The library takes `NaN` and `Infinity` for numbers.
    Cow::Borrowed(if number.is_finite() { word } else { "null" })
}

/// Copies a string from after its first quote, and returns what follows its last.
fn copy_string<'a>(text: &'a str, made: &mut String) -> &'a str {
    made.push('"');
    let mut rest = text;
    loop {
        let is_special =
            |letter: char| matches!(letter, '"' | '\\') || u32::from(letter) < u32::from(' ');
        let Some(at) = rest.find(is_special) else {
            made.push_str(rest);
            return "";
        };
        made.push_str(&rest[..at]);
        rest = &rest[at..];
        match rest.as_bytes()[0] {
            b'"' => {
                made.push('"');
                return &rest[1..];
            }
            b'\\' => rest = copy_escape(rest, made),
            control => {
                write!(made, "\\u{control:04x}").expect("a string takes all that is written");
                rest = &rest[1..];
            }
        }
    }
}

/// Copies an escape, and returns what follows it. Two escapes that make one character are copied
/// together.
fn copy_escape<'a>(text: &'a str, made: &mut String) -> &'a str {
    const BYTES: usize = "\\uXXXX".len();
    let length = match unit(text) {
        Some(0xd800..0xdc00) if matches!(unit(&text[BYTES..]), Some(0xdc00..0xe000)) => 2 * BYTES,
        Some(0xd800..0xe000) => {
            made.push(char::REPLACEMENT_CHARACTER);
            return &text[BYTES..];
        }
        Some(_) => BYTES,
        None => 1 + text[1..].chars().next().map_or(0, char::len_utf8),
    };
    let (escape, behind) = text.split_at(length);
    made.push_str(escape);
    behind
}

/// Reads the number of an escape of the form `\uXXXX`.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_nearly_json_becomes_json_and_the_rest_stays() {
        let table = [
            (r#""bad \ud83d end""#, json!("bad \u{fffd} end")),
            (r#""\ude00\ud83d\ud83d\ude00""#, json!("\u{fffd}\u{fffd}😀")),
            (r#""\\ud83d \" \\""#, json!(r#"\ud83d " \"#)),
            (
                r#"[NaN, -Infinity, 1e400, 1e3, null, true, "NaN"]"#,
                json!([null, null, "1e400", 1e3, null, true, "NaN"]),
            ),
            (
                r#"{"a":[18446744073709551616,-9223372036854775808],"18446744073709551616":1}"#,
                json!({ "a": ["18446744073709551616", i64::MIN], "18446744073709551616": 1 }),
            ),
            (r#"{"a\ud83d":-1.5E-7}"#, json!({ "a\u{fffd}": -1.5e-7 })),
            ("\"tab\there\nand there 도구\"", json!("tab\there\nand there 도구")),
        ];
        for (text, value) in table {
            let made = repaired(text);
            assert_eq!(serde_json::from_str::<Value>(&made).unwrap(), value, "{text} {made}");
        }
    }

    #[test]
    fn what_is_far_from_json_is_copied_to_its_end() {
        for text in [
            "",
            "\"",
            r#""\"#,
            r#""\u12"#,
            r#""\u+123""#,
            "\"\\도구",
            "{'a': undefined}",
            "\"a\" \\ \"b",
        ] {
            assert_eq!(repaired(text), text, "{text}");
        }
    }
}
