//! Reads members of JSON objects as models write them, and writes JSON in the form that models were
//! trained on.
//!
//! Reading builds no values, so JSON that is broken or cut off can be read at any depth.

use std::io;

use serde::Serialize as _;
use serde_json::{Serializer, Value, ser::Formatter};

/// Follows a JSON object or array character by character until it closes.
#[derive(Debug, Clone, Default)]
struct JsonScan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl JsonScan {
    /// Takes the next character. Returns true if it closes the outermost object or array.
    fn push(&mut self, next: char) -> bool {
        if self.in_string {
            match next {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = true,
                '"' => self.in_string = false,
                _ => (),
            }
            return false;
        }
        match next {
            '"' => self.in_string = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => (),
        }
        false
    }
}

/// Returns the raw text of an object's member. It ends with the text if the value is cut off.
/// Returns `None` if there is no such member, or if the object is broken before it.
pub(super) fn member<'a>(object: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = object.trim_start().strip_prefix('{')?;
    loop {
        rest = rest.trim_start().strip_prefix('"')?;
        let key_len = string_len(rest)?;
        let key = &rest[..key_len];
        rest = rest[key_len + 1..].trim_start().strip_prefix(':')?.trim_start();
        let value_len = value_len(rest);
        if key == wanted {
            return Some(rest[..value_len].trim_end());
        }
        rest = rest[value_len..].strip_prefix(',')?;
    }
}

/// Returns the raw text of an object's first key, with its quotes, and that of its value.
pub(super) fn first_member(object: &str) -> Option<(&str, &str)> {
    let rest = object.trim_start().strip_prefix('{')?.trim_start();
    let key_len = string_len(rest.strip_prefix('"')?)? + 2;
    let (key, rest) = rest.split_at(key_len);
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    Some((key, rest[..value_len(rest)].trim_end()))
}

/// Counts the bytes of a string before its closing quote. Returns `None` if it has none.
fn string_len(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, next) in text.char_indices() {
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at),
            _ => (),
        }
    }
    None
}

/// Counts the bytes of a value up to the comma after it, or the closing bracket around it.
fn value_len(text: &str) -> usize {
    let mut scan = JsonScan::default();
    for (at, next) in text.char_indices() {
        if !scan.in_string && scan.depth == 0 && matches!(next, ',' | '}' | ']') {
            return at;
        }
        scan.push(next);
    }
    text.len()
}

/// Writes JSON as Python does, with blanks after `,` and `:` and without ASCII escapes. Models were
/// trained on this form.
pub fn write(value: &Value, indent: Option<usize>) -> String {
    write_with(value, indent, None)
}

/// Writes JSON with these two texts after items and after keys. Without them it writes as
/// [`write()`] does.
pub fn write_with(value: &Value, indent: Option<usize>, separators: Option<[&str; 2]>) -> String {
    let [item, key] = separators.unwrap_or([if indent.is_some() { "," } else { ", " }, ": "]);
    let lines = indent.map(|indent| " ".repeat(indent));
    let python = Python { item, key, lines: lines.as_deref(), depth: 0, is_empty: false };
    let mut written = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut written, python))
        .expect("a value has only texts as keys, and memory takes everything");
    String::from_utf8(written).expect("JSON is written in UTF-8")
}

/// Writes JSON in one line, or each item on a line of its own.
struct Python<'a> {
    item: &'a str,
    key: &'a str,
    /// The indent of one level. `None` if everything is in one line.
    lines: Option<&'a str>,
    depth: usize,
    is_empty: bool,
}

impl Python<'_> {
    fn begin<W: io::Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_empty = true;
        out.write_all(bracket)
    }

    fn end<W: io::Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if !std::mem::take(&mut self.is_empty) {
            self.line(out)?;
        }
        out.write_all(bracket)
    }

    fn line<W: io::Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        let Some(indent) = self.lines else { return Ok(()) };
        out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| out.write_all(indent.as_bytes()))
    }
}

impl Formatter for Python<'_> {
    fn begin_array<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.is_empty = false;
        if !first {
            out.write_all(self.item.as_bytes())?;
        }
        self.line(out)
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.begin_array_value(out, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(self.key.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_by_their_raw_text() {
        let object = r#" {"name": "a\"}b", "arguments" : {"x": [1, "}"], "y": 1e400} , "z":null}"#;
        assert_eq!(member(object, "name"), Some(r#""a\"}b""#));
        assert_eq!(member(object, "arguments"), Some(r#"{"x": [1, "}"], "y": 1e400}"#));
        assert_eq!(member(object, "z"), Some("null"));
        assert_eq!(member(object, "y"), None, "members of members are not members");
    }

    #[test]
    fn a_cut_off_text_keeps_its_complete_part() {
        assert_eq!(
            member(r#"{"name": "a", "arguments": {"x": "y"#, "arguments"),
            Some(r#"{"x": "y"#)
        );
        assert_eq!(member(r#"{"name": "a", "argu"#, "arguments"), None);
        assert_eq!(member("[1]", "name"), None);
    }

    #[test]
    fn an_object_ends_where_its_bracket_closes() {
        let mut scan = JsonScan::default();
        let text = r#"{"a":"}\"]","b":[{}]}rest"#;
        let end = text.chars().position(|next| scan.push(next));
        assert_eq!(end, Some(text.len() - "rest".len() - 1));
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!(r#"{{"a":{}1"#, "[".repeat(1_000_000));
        assert_eq!(member(&deep, "a").map(str::len), Some(1_000_001));
    }
}
