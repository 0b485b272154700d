//! Reads members of JSON objects as models write them, without building values, so that cut off or broken JSON works at
//! any depth. Writes JSON in the form of the training.

use serde_json::Value;

/// Follows a JSON object or array character by character until it closes.
#[derive(Debug, Clone, Default)]
struct JsonScan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl JsonScan {
    /// Takes the next character; true when it closes the outermost object or array.
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

/// Returns the raw text of an object's member; up to the end of the text if the value is cut off.
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

/// Returns the length of a string up to its closing quote.
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

/// Returns the length of a value up to the comma behind it, or the closing bracket around it.
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

/// Writes JSON as Python does, which models were trained on: blanks behind `,` and `:`, and no ASCII escapes.
pub(in super::super) fn write(
    out: &mut String,
    value: &Value,
    indent: Option<usize>,
    depth: usize,
) {
    let new_line = |out: &mut String, depth: usize| {
        if let Some(indent) = indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent * depth));
        }
    };
    let comma = if indent.is_some() { "," } else { ", " };
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { comma });
                new_line(out, depth + 1);
                write(out, item, indent, depth + 1);
            }
            new_line(out, depth);
            out.push(']');
        }
        Value::Object(members) if !members.is_empty() => {
            out.push('{');
            for (at, (key, item)) in members.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { comma });
                new_line(out, depth + 1);
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(": ");
                write(out, item, indent, depth + 1);
            }
            new_line(out, depth);
            out.push('}');
        }
        Value::Array(_)
        | Value::Object(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_) => out.push_str(&value.to_string()),
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
