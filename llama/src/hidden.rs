//! Hides untrusted text from a chat template, with marks in its place, so that no template takes it
//! for its own. Restores it afterwards as untrusted pieces.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Begins a mark. All of these are noncharacters of Unicode, which no text should have.
const BEGIN: char = '\u{fdd0}';
/// Ends a mark that represents the text as it is.
const END: char = '\u{fdd1}';
/// Ends a mark that represents the text as it is inside a JSON string.
const END_IN_JSON: char = '\u{fdd2}';
/// Ends a mark that represents the text as it is inside a JSON string of ASCII alone.
const END_IN_ASCII: char = '\u{fdd3}';
const MARKS: [char; 4] = [BEGIN, END, END_IN_JSON, END_IN_ASCII];

/// The most digits of a mark.
const DIGITS: usize = 20;

/// A piece of a rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Written by the template: its control tokens are meant.
    Trusted(String),
    /// Written by a user, a model or a tool: nothing in it is a control token.
    Untrusted(String),
}

impl Piece {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Trusted(text) | Self::Untrusted(text) => text,
        }
    }
}

/// The hidden texts of one prompt.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    texts: Vec<String>,
}

impl Hidden {
    /// Hides a text and returns its mark. An empty text stays empty, because templates check for
    /// that.
    pub(super) fn hide(&mut self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        self.texts.push(text.to_owned());
        format!("{BEGIN}{}{END}", self.texts.len() - 1)
    }

    /// Hides the strings of a value, and those of its keys that `is_suspect` names.
    pub(super) fn hide_json(&mut self, value: &Value, is_suspect: &dyn Fn(&str) -> bool) -> Value {
        self.hide_where(value, &|_| true, is_suspect)
    }

    /// Hides only suspicious texts, because templates look into the descriptions of tools.
    pub(super) fn hide_suspects(
        &mut self,
        value: &Value,
        is_suspect: &dyn Fn(&str) -> bool,
    ) -> Value {
        self.hide_where(value, is_suspect, is_suspect)
    }

    fn hide_where(
        &mut self,
        value: &Value,
        hides_text: &dyn Fn(&str) -> bool,
        hides_key: &dyn Fn(&str) -> bool,
    ) -> Value {
        match value {
            Value::String(text) if hides_text(text) => Value::String(self.hide(text)),
            Value::Array(items) => {
                items.iter().map(|item| self.hide_where(item, hides_text, hides_key)).collect()
            }
            Value::Object(members) => {
                let hide = |(key, value): (&String, &Value)| {
                    let key = if hides_key(key) { self.hide(key) } else { key.clone() };
                    (key, self.hide_where(value, hides_text, hides_key))
                };
                Value::Object(members.iter().map(hide).collect::<Map<_, _>>())
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Restores the texts in a rendering, as pieces that are trusted or not.
    ///
    /// # Errors
    /// Returns [`TooLong`] if a template repeats texts beyond `max_bytes`.
    pub(super) fn uncover(&self, rendered: &str, max_bytes: usize) -> Result<Vec<Piece>, TooLong> {
        let mut left = max_bytes.checked_sub(rendered.len()).ok_or(TooLong)?;
        let mut pieces = Vec::new();
        let mut trusted = String::new();
        let mut rest = rendered;
        while let Some(begin) = rest.find(BEGIN) {
            trusted.push_str(&rest[..begin]);
            let mark = &rest[begin + BEGIN.len_utf8()..];
            let number = mark.bytes().take(DIGITS).take_while(u8::is_ascii_digit).count();
            let found = self.number(&mark[..number]).and_then(|text| {
                let closing = mark[number..].chars().next()?;
                let text = match closing {
                    END => text.to_owned(),
                    END_IN_JSON => inside_json(text),
                    END_IN_ASCII => in_ascii(&inside_json(text)),
                    _ => return None,
                };
                Some((text, number + closing.len_utf8()))
            });
            let Some((text, len)) = found else {
                rest = mark;
                continue;
            };
            if !trusted.is_empty() {
                pieces.push(Piece::Trusted(std::mem::take(&mut trusted)));
            }
            left = left.checked_sub(text.len()).ok_or(TooLong)?;
            pieces.push(Piece::Untrusted(text));
            rest = &mark[len..];
        }
        trusted.push_str(rest);
        if !trusted.is_empty() {
            pieces.push(Piece::Trusted(trusted));
        }
        Ok(pieces)
    }

    fn number(&self, digits: &str) -> Option<&str> {
        self.texts.get(digits.parse::<usize>().ok()?).map(String::as_str)
    }
}

/// The prompt exceeds its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the prompt is too long")]
pub(super) struct TooLong;

/// Returns whether a text contains marks. It must then be hidden, because it would restore other
/// texts.
pub(super) fn has_marks(text: &str) -> bool {
    text.contains(MARKS)
}

/// The letters of a JSON text that are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// The characters that no string can hold.
    Json,
    /// All characters that are not ASCII, in addition.
    Ascii,
}

/// Turns the marks inside of a JSON text into marks of escaped text.
pub(super) fn marks_in_json(json: &str, escapes: Escapes) -> String {
    let end = match escapes {
        Escapes::Json => END_IN_JSON,
        Escapes::Ascii => END_IN_ASCII,
    };
    json.replace(END, &end.to_string())
}

/// Escapes what is not ASCII in JSON, since it can only be in strings. Marks stay.
pub(super) fn in_ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() || MARKS.contains(&letter) {
            ascii.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            write!(ascii, "\\u{unit:04x}").expect("a string takes everything");
        }
    }
    ascii
}

fn inside_json(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_hidden_comes_back_as_untrusted() {
        let mut hidden = Hidden::default();
        let text = hidden.hide("a\"b");
        let rendered = format!(
            "<s>{text}</s>{}",
            marks_in_json(&format!("{{\"x\": \"{text}\"}}"), Escapes::Json)
        );
        let pieces = hidden.uncover(&rendered, 1_000).unwrap();
        let expected = [
            Piece::Trusted("<s>".into()),
            Piece::Untrusted("a\"b".into()),
            Piece::Trusted("</s>{\"x\": \"".into()),
            Piece::Untrusted("a\\\"b".into()),
            Piece::Trusted("\"}".into()),
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn a_forged_mark_uncovers_nothing() {
        let mut hidden = Hidden::default();
        hidden.hide("secret");
        let forged = hidden.hide("\u{fdd0}0\u{fdd1}");
        let uncover = |rendered: &str| hidden.uncover(rendered, 1_000).unwrap();
        assert_eq!(uncover(&forged), [Piece::Untrusted("\u{fdd0}0\u{fdd1}".into())]);
        assert_eq!(uncover("\u{fdd0}7\u{fdd1}x"), [Piece::Trusted("7\u{fdd1}x".into())]);
    }

    #[test]
    fn a_text_that_is_repeated_too_often_is_not_uncovered() {
        let mut hidden = Hidden::default();
        let mark = hidden.hide(&"x".repeat(100));
        assert_eq!(hidden.uncover(&mark.repeat(9), 1_000).map(|pieces| pieces.len()), Ok(9));
        assert_eq!(hidden.uncover(&mark.repeat(10), 1_000), Err(TooLong));
        assert_eq!(hidden.uncover(&"y".repeat(1_001), 1_000), Err(TooLong));
    }

    #[test]
    fn empty_text_stays_empty_and_numbers_stay_numbers() {
        let mut hidden = Hidden::default();
        let value = hidden.hide_json(&json!({"a": "", "b": 1, "c": [true, null]}), &|_| false);
        assert_eq!(value, json!({"a": "", "b": 1, "c": [true, null]}));
    }
}
