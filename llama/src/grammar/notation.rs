//! Writes single values of a call in Lark for llguidance: as JSON, in Gemma's braces, or in Python.

use madang_parser::call::{CallForm, braces, json, python};
use serde_json::Value;

use super::super::telling::CallStyle;

/// The form of values in a family's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    /// JSON with this blank after colons and commas.
    Json(&'static str),
    /// Strings between this mark, and bare keys.
    Braces(&'static str),
    Python,
}

/// A character of a JSON string, escaped only if it must be. So a string has one form, and half of
/// a surrogate pair is impossible.
const JSON_LETTER: &str = r#"([^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00[01][0-9a-f])"#;
/// The same between single quotes, for Python.
const PYTHON_LETTER: &str = r"([^'\\\x00-\x1f]|\\['\\bfnrt]|\\u00[01][0-9a-f])";

/// A day of the calendar.
pub(super) const DATE: &str = "([0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])\
                    |[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)\
                    |[0-9]{4}-02-(0[1-9]|1[0-9]|2[0-8])\
                    |([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)";

impl Notation {
    pub(super) fn of(form: CallForm, style: &CallStyle) -> Self {
        match form {
            CallForm::Object { .. }
            | CallForm::Objects(_)
            | CallForm::Marked(_)
            | CallForm::Tagged(_) => Self::Json(style.blank()),
            CallForm::Braces(quote) => Self::Braces(quote),
            CallForm::Python => Self::Python,
        }
    }

    /// Returns the separator of items and of members.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Json("") | Self::Braces(_) => ",",
            Self::Json(_) | Self::Python => ", ",
        }
    }

    /// Returns a key with its colon, or `None` if it cannot be written.
    pub(super) fn key(self, key: &str) -> Option<String> {
        match self {
            Self::Json(blank) => Some(format!("{}:{blank}", Value::from(key))),
            Self::Python => Some(format!("{}: ", Value::from(key))),
            Self::Braces(quote) => Some(format!("{}:", braces::bare_key(key, quote)?)),
        }
    }

    /// Returns any key with its colon.
    pub(super) fn any_key(self) -> String {
        match self {
            Self::Json(blank) => format!("/\"{JSON_LETTER}*\":{blank}/"),
            Self::Python => format!("/\"{JSON_LETTER}*\": /"),
            Self::Braces(_) => "/[a-zA-Z_][a-zA-Z0-9_]*:/".to_owned(),
        }
    }

    /// Returns strings of this many characters.
    pub(super) fn string(self, min: u64, max: Option<u64>) -> String {
        let letters = |letter: &str| repeated(letter, min, max);
        match self {
            Self::Json(_) => format!("/\"{}\"/", letters(JSON_LETTER)),
            Self::Python => {
                format!("/\"{}\"/ | /'{}'/", letters(JSON_LETTER), letters(PYTHON_LETTER))
            }
            Self::Braces(quote) => {
                let quoted = regex_of(quote);
                let text = letters("(?s:.)");
                format!("/{quoted}/ (/{text}/ & ~/(?s:.*){quoted}(?s:.*)/) /{quoted}/")
            }
        }
    }

    /// Returns days such as `2026-11-22`.
    pub(super) fn date(self) -> String {
        match self {
            Self::Json(_) => format!("/\"{DATE}\"/"),
            Self::Python => format!("/\"{DATE}\"/ | /'{DATE}'/"),
            Self::Braces(quote) => format!("/{0}{DATE}{0}/", regex_of(quote)),
        }
    }

    /// Returns all forms of one value. Returns none if it cannot be written.
    pub(super) fn literals(self, value: &Value) -> Vec<String> {
        match self {
            Self::Json("") => vec![value.to_string()],
            Self::Json(_) => vec![json::write(value, None)],
            Self::Python => python::literals(value),
            Self::Braces(quote) => braces::literal(value, quote).into_iter().collect(),
        }
    }
}

/// Writes this many of a character as a regular expression.
pub(super) fn repeated(letter: &str, min: u64, max: Option<u64>) -> String {
    match (min, max) {
        (0, None) => format!("{letter}*"),
        (min, None) => format!("{letter}{{{min},}}"),
        (min, Some(max)) => format!("{letter}{{{min},{max}}}"),
    }
}

/// Writes a text as a regular expression.
pub(super) fn regex_of(text: &str) -> String {
    let is_plain = |letter: char| {
        !letter.is_ascii_punctuation() || matches!(letter, '_' | ':' | '"' | '<' | '>')
    };
    let escaped = |letter: char| match letter {
        '\n' => ['\\', 'n'].into_iter().take(2),
        letter if is_plain(letter) => [letter, letter].into_iter().take(1),
        letter => ['\\', letter].into_iter().take(2),
    };
    text.chars().flat_map(escaped).collect()
}

/// Writes a text as a Lark literal.
pub(super) fn lark_string(text: &str) -> String {
    Value::from(text).to_string()
}
