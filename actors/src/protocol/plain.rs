//! What a person is asked to confirm, as plain text: whole, in one order, with everything visible that could mislead.
//!
//! Letters that look alike (a Cyrillic `а` for a Latin one) are not told apart: what is written there is visible, and
//! which alphabets belong together only the reader knows. Letters of right-to-left scripts stay as they are too; each
//! value has a line of its own, so that they rearrange nothing beside it.

use std::{borrow::Cow, fmt::Write};

use serde_json::Value;

use super::Question;

/// So many accents on one letter are a language; more are drawn over their neighbours.
const MAX_MARKS: usize = 4;

impl Question {
    /// The question in full: the tool, each argument on lines of its own, and what will happen. It is made of what is
    /// stored, never of what a model says about it. Texts are quoted and escaped as in JSON, so that none of them can
    /// look like another argument; for what is invisible, see [`plain`].
    #[must_use]
    pub fn plain_text(&self) -> String {
        let mut text = plain(&self.tool).into_owned();
        for (name, value) in sorted(&self.arguments) {
            text.push_str("\n  ");
            write_name(&mut text, name);
            text.push_str(": ");
            write_value(&mut text, value, 2);
        }
        text.push_str("\n  ");
        text.push_str(&plain(&self.consequence));
        text
    }
}

/// A text on one line in which nothing is invisible, moves the cursor or turns the direction of reading: control and
/// format characters, line breaks, every space but the ordinary one, tags, variation selectors, fillers, private and
/// unassigned characters and heaps of accents are shown as `\u{202e}`.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut eye = Eye::default();
    for letter in text.chars() {
        eye.push(&mut shown, letter);
    }
    Cow::Owned(shown)
}

/// JSON in one line that a person can change and that reads back as the same value: what [`plain`] makes visible is
/// escaped as JSON does it.
#[must_use]
pub fn editable(value: &Value) -> String {
    let mut shown = String::new();
    for letter in value.to_string().chars() {
        // Only within texts has JSON anything but visible ASCII.
        if is_visible(letter) && !is_mark(letter) {
            shown.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    shown
}

/// Reads letter by letter, and shows what an eye would not see.
#[derive(Debug, Default)]
struct Eye {
    /// Accents that can still be put on the letter before.
    room: usize,
}

impl Eye {
    fn push(&mut self, shown: &mut String, letter: char) {
        if !is_visible(letter) {
            shown.extend(letter.escape_unicode());
            self.room = 0;
        } else if !is_mark(letter) {
            shown.push(letter);
            self.room = if letter == ' ' { 0 } else { MAX_MARKS };
        } else if let Some(left) = self.room.checked_sub(1) {
            shown.push(letter);
            self.room = left;
        } else {
            shown.extend(letter.escape_unicode());
        }
    }
}

fn write_value(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(words) => write_quoted(text, words),
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| (None, item));
            write_list(text, ['[', ']'], items, indent);
        }
        Value::Object(fields) if !fields.is_empty() => {
            let fields = sorted(value).into_iter().map(|(name, value)| (Some(name), value));
            write_list(text, ['{', '}'], fields, indent);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            // Writing to a String cannot fail.
            write!(text, "{value}").expect("a String takes every text");
        }
    }
}

fn write_list<'a>(
    text: &mut String,
    [open, close]: [char; 2],
    entries: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    indent: usize,
) {
    let new_line = |text: &mut String, indent: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', indent));
    };
    text.push(open);
    for (index, (name, value)) in entries.enumerate() {
        if index > 0 {
            text.push(',');
        }
        new_line(text, indent + 2);
        if let Some(name) = name {
            write_name(text, name);
            text.push_str(": ");
        }
        write_value(text, value, indent + 2);
    }
    new_line(text, indent);
    text.push(close);
}

/// The fields in the order of their names, whatever order they were written in.
fn sorted(value: &Value) -> Vec<(&str, &Value)> {
    let fields = value.as_object().into_iter().flatten();
    let mut fields: Vec<_> = fields.map(|(name, value)| (name.as_str(), value)).collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    fields
}

/// Names as schemas have them stand bare; any other is quoted, so that none can look like a name with its value.
fn write_name(text: &mut String, name: &str) {
    let is_word = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_';
    if !name.is_empty() && name.bytes().all(is_word) {
        text.push_str(name);
    } else {
        write_quoted(text, name);
    }
}

fn write_quoted(text: &mut String, words: &str) {
    let mut eye = Eye::default();
    text.push('"');
    for letter in words.chars() {
        let escape = match letter {
            '"' => r#"\""#,
            '\\' => r"\\",
            '\n' => r"\n",
            '\r' => r"\r",
            '\t' => r"\t",
            _ => {
                eye.push(text, letter);
                continue;
            }
        };
        text.push_str(escape);
        eye = Eye::default();
    }
    text.push('"');
}

fn is_visible(letter: char) -> bool {
    if letter.is_ascii() {
        return letter == ' ' || letter.is_ascii_graphic();
    }
    is_printable(letter) && !is_blank(letter)
}

/// What Unicode counts among letters and signs and nobody sees all the same: fillers, selectors, joiners.
const fn is_blank(letter: char) -> bool {
    matches!(letter,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{16fe4}' | '\u{1d159}' | '\u{e0000}'..='\u{e0fff}')
}

/// The tables of the standard library know what is no control, format, private or unassigned character and no space.
/// They are asked through `escape_debug`, which would escape accents as well at the beginning of a text.
fn is_printable(letter: char) -> bool {
    let mut behind_another = [b'a'; 5];
    let bytes = letter.encode_utf8(&mut behind_another[1..]).len();
    std::str::from_utf8(&behind_another[..=bytes])
        .is_ok_and(|text| text.escape_debug().nth(1) == Some(letter))
}

/// Whether it is drawn over the letter before it.
fn is_mark(letter: char) -> bool {
    !letter.is_ascii() && letter.escape_debug().next() != Some(letter)
}
