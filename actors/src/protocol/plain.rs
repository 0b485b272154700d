//! Questions as plain text: complete, in one order, with every misleading character visible.
//!
//! The text depends on the question alone. It has as many lines as its values need. A program that
//! shows it in rows of some width marks each row as a part of it, so that a value which is broken
//! there cannot look like a line of its own.
//!
//! Letters that look alike (a Cyrillic `а` for a Latin one) stay as they are. They are visible, and
//! only the reader knows which alphabets belong together. Letters of right-to-left scripts stay as
//! well. Each value has a line of its own, so they rearrange nothing else.

use std::{borrow::Cow, fmt::Write};

use serde_json::Value;

use super::{ApprovalRequest, MAX_BYTES};

/// The most accents on one letter that a language has; more are drawn over their neighbours.
const MAX_MARKS: usize = 4;

/// The most blanks in a row that are seen as what they are. More would push what follows out of
/// sight, or to where another line is expected.
const MAX_BLANKS: usize = 4;

impl ApprovalRequest {
    /// Writes the question in full, up to [`MAX_BYTES`]: the tool, each argument on lines of its
    /// own, and what will happen. It is made of what is stored, never of what a model says about
    /// it. Texts are quoted and escaped as in JSON, so that none of them can look like another
    /// argument. [`plain`] describes what happens to invisible characters.
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

/// Writes a text on one line in which no character is invisible, moves the cursor or turns the
/// direction of reading. Control and format characters, line breaks, every space but the ordinary
/// one, tags, variation selectors and fillers appear as `\u{202e}` and the like, and so do private
/// and unassigned characters and heaps of accents. A long run of blanks appears as its number,
/// `\{␣×57}`.
///
/// It is for texts of a tool or a program without quotations. [`quoted`] is for foreign text in
/// them.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    if text.bytes().all(is_plain) && !text.contains(TOO_BLANK) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut eye = Eye::default();
    for letter in text.chars() {
        eye.push(&mut shown, letter);
    }
    eye.end(&mut shown);
    Cow::Owned(shown)
}

/// Quotes a foreign text for a sentence that a person reads: a text of a model, a person or a
/// table. It is in single quotation marks on one line, escaped as in JSON, and everything is
/// visible that [`plain`] makes visible. No text can end its own quotation, so none can look like a
/// part of the sentence. Different texts look different.
///
/// ```
/// use madang_actors::protocol::quoted;
///
/// assert_eq!(quoted("milk"), "'milk'");
/// assert_eq!(quoted("milk'. Harmless.\n"), r"'milk\'. Harmless.\n'");
/// ```
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    write_quoted(&mut shown, text, '\'');
    shown
}

/// Quotes at most so many characters of a text. After the quotation marks comes the number of those
/// that are missing: `'mil' (+1)`.
#[must_use]
pub fn quoted_up_to(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return quoted(text) };
    format!("{} (+{})", quoted(&text[..end]), text[end..].chars().count())
}

/// Writes JSON on one line that a person can edit and that reads back as the same value. Characters
/// that [`plain`] makes visible are escaped as JSON escapes them.
#[must_use]
pub fn editable(value: &Value) -> String {
    let mut shown = String::new();
    for letter in value.to_string().chars() {
        // JSON is visible ASCII but for its texts.
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

/// The shortest run of blanks that is shown as its number.
const TOO_BLANK: &str = "     ";

const _: () = assert!(TOO_BLANK.len() == MAX_BLANKS + 1, "one more than is seen as what it is");

/// Reads letter by letter, and shows letters that an eye would not see.
#[derive(Debug, Default)]
struct Eye {
    /// The accents that can still be put on the letter before.
    room: usize,
    /// The blanks that were read and are not shown yet.
    blanks: usize,
}

impl Eye {
    /// Shows the blanks that were read.
    fn end(&mut self, shown: &mut String) {
        match std::mem::take(&mut self.blanks) {
            few @ 0..=MAX_BLANKS => shown.extend(std::iter::repeat_n(' ', few)),
            // Writing to a String cannot fail.
            many => write!(shown, "\\{{␣×{many}}}").expect("a String takes every text"),
        }
    }

    fn push(&mut self, shown: &mut String, letter: char) {
        if letter == ' ' {
            self.blanks += 1;
            self.room = 0;
            return;
        }
        self.end(shown);
        if !is_visible(letter) {
            shown.extend(letter.escape_unicode());
            self.room = 0;
        } else if !is_mark(letter) {
            shown.push(letter);
            self.room = MAX_MARKS;
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
        Value::String(words) => write_quoted(text, words, '"'),
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
        // Too long to be stored, and so to be asked: a megabyte of short values that lie deep would
        // take a hundred.
        if text.len() > MAX_BYTES {
            break;
        }
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

/// Sorts the fields by their names, whatever order they were written in.
fn sorted(value: &Value) -> Vec<(&str, &Value)> {
    let fields = value.as_object().into_iter().flatten();
    let mut fields: Vec<_> = fields.map(|(name, value)| (name.as_str(), value)).collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    fields
}

/// Writes the names that schemas usually have bare, and quotes any other, so that none can look
/// like a name with its value.
fn write_name(text: &mut String, name: &str) {
    let is_word = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_';
    if !name.is_empty() && name.bytes().all(is_word) {
        text.push_str(name);
    } else {
        write_quoted(text, name, '"');
    }
}

fn write_quoted(text: &mut String, words: &str, mark: char) {
    let mut eye = Eye::default();
    text.push(mark);
    for letter in words.chars() {
        let escape = match letter {
            '"' if mark == letter => r#"\""#,
            '\'' if mark == letter => r"\'",
            '\\' => r"\\",
            '\n' => r"\n",
            '\r' => r"\r",
            '\t' => r"\t",
            _ => {
                eye.push(text, letter);
                continue;
            }
        };
        eye.end(text);
        text.push_str(escape);
        eye = Eye::default();
    }
    eye.end(text);
    text.push(mark);
}

/// Returns whether an eye sees a letter as what it is. Control and format characters, tags, fillers
/// and every space but the ordinary one are not visible. An accent is.
#[must_use]
pub fn is_visible(letter: char) -> bool {
    if letter.is_ascii() {
        return letter == ' ' || letter.is_ascii_graphic();
    }
    is_printable(letter) && !is_blank(letter)
}

/// Returns whether a letter is a filler, selector or joiner, which Unicode counts among letters and
/// signs although it is invisible.
const fn is_blank(letter: char) -> bool {
    matches!(letter,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{16fe4}' | '\u{1d159}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether the standard library's tables count a letter as visible: no control, format,
/// private or unassigned character and no space. They are asked through `escape_debug`, which would
/// also escape accents at the beginning of a text.
fn is_printable(letter: char) -> bool {
    let mut behind_another = [b'a'; 5];
    let bytes = letter.encode_utf8(&mut behind_another[1..]).len();
    std::str::from_utf8(&behind_another[..=bytes])
        .is_ok_and(|text| text.escape_debug().nth(1) == Some(letter))
}

/// Returns whether a letter is drawn over the letter before it.
fn is_mark(letter: char) -> bool {
    !letter.is_ascii() && letter.escape_debug().next() != Some(letter)
}
