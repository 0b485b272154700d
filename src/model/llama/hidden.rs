//! Untrusted text on its way through a chat template: hidden behind marks, so that no template can mistake it for its
//! own, and uncovered afterwards as pieces that are known to be untrusted.

use serde_json::{Map, Value};

/// Begins a mark. These three are noncharacters of Unicode, which no text has.
const BEGIN: char = '\u{fdd0}';
/// Ends a mark that stands for the text as it is.
const END: char = '\u{fdd1}';
/// Ends a mark that stands for the text as it is inside a JSON string.
const END_IN_JSON: char = '\u{fdd2}';

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
    /// Hides a text and gives its mark. What is empty stays so: templates ask for that.
    pub(super) fn hide(&mut self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        self.texts.push(text.to_owned());
        format!("{BEGIN}{}{END}", self.texts.len() - 1)
    }

    /// Hides the strings of a value, and those of its keys that `is_suspect` names.
    pub(super) fn hide_json(&mut self, value: &Value, is_suspect: &dyn Fn(&str) -> bool) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide(text)),
            Value::Array(items) => {
                items.iter().map(|item| self.hide_json(item, is_suspect)).collect()
            }
            Value::Object(members) => {
                let hide = |(key, value): (&String, &Value)| {
                    let key = if is_suspect(key) { self.hide(key) } else { key.clone() };
                    (key, self.hide_json(value, is_suspect))
                };
                Value::Object(members.iter().map(hide).collect::<Map<_, _>>())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Hides only what `is_suspect` names: templates look into the descriptions of tools.
    pub(super) fn hide_suspects(
        &mut self,
        value: &Value,
        is_suspect: &dyn Fn(&str) -> bool,
    ) -> Value {
        match value {
            Value::String(text) if is_suspect(text) => Value::String(self.hide(text)),
            Value::Array(items) => {
                items.iter().map(|item| self.hide_suspects(item, is_suspect)).collect()
            }
            Value::Object(members) => {
                let hide = |(key, value): (&String, &Value)| {
                    let key = if is_suspect(key) { self.hide(key) } else { key.clone() };
                    (key, self.hide_suspects(value, is_suspect))
                };
                Value::Object(members.iter().map(hide).collect::<Map<_, _>>())
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Uncovers what a template rendered.
    pub(super) fn uncover(&self, rendered: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut trusted = String::new();
        let mut rest = rendered;
        while let Some(begin) = rest.find(BEGIN) {
            trusted.push_str(&rest[..begin]);
            let mark = &rest[begin + BEGIN.len_utf8()..];
            let found = mark.find([END, END_IN_JSON]).and_then(|end| {
                let text = self.texts.get(mark[..end].parse::<usize>().ok()?)?;
                let closing = mark[end..].chars().next()?;
                Some((text, closing == END_IN_JSON, end + closing.len_utf8()))
            });
            let Some((text, is_in_json, len)) = found else {
                rest = mark;
                continue;
            };
            if !trusted.is_empty() {
                pieces.push(Piece::Trusted(std::mem::take(&mut trusted)));
            }
            pieces.push(Piece::Untrusted(if is_in_json {
                inside_json(text)
            } else {
                text.clone()
            }));
            rest = &mark[len..];
        }
        trusted.push_str(rest);
        if !trusted.is_empty() {
            pieces.push(Piece::Trusted(trusted));
        }
        pieces
    }
}

/// Turns the marks inside a JSON text into those that stand for escaped text.
pub(super) fn marks_in_json(json: &str) -> String {
    json.replace(END, &END_IN_JSON.to_string())
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
        let rendered = format!("<s>{text}</s>{}", marks_in_json(&format!("{{\"x\": \"{text}\"}}")));
        let pieces = hidden.uncover(&rendered);
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
        assert_eq!(hidden.uncover(&forged), [Piece::Untrusted("\u{fdd0}0\u{fdd1}".into())]);
        assert_eq!(hidden.uncover("\u{fdd0}7\u{fdd1}x"), [Piece::Trusted("7\u{fdd1}x".into())]);
    }

    #[test]
    fn empty_text_stays_empty_and_numbers_stay_numbers() {
        let mut hidden = Hidden::default();
        let value = hidden.hide_json(&json!({"a": "", "b": 1, "c": [true, null]}), &|_| false);
        assert_eq!(value, json!({"a": "", "b": 1, "c": [true, null]}));
    }
}
