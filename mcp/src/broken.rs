//! Reads what can be read of a message that is not JSON.

use std::mem;

use serde_json::{Map, Value};

use crate::values::has_too_many_values;

/// Returns the members of an object up to where it breaks off. A value that cannot be read is null.
pub(crate) fn top_members(text: &str) -> Map<String, Value> {
    let mut members = Map::new();
    let mut end = |key: &str, value: &str| {
        if matches!(key, "jsonrpc" | "id" | "method" | "result" | "error") {
            let value = Some(value).filter(|value| !has_too_many_values(value.as_bytes()));
            let value = value.and_then(|value| serde_json::from_str(value).ok());
            members.insert(key.to_owned(), value.unwrap_or_default());
        }
    };
    let mut depth = 0_usize;
    let mut string = None;
    let mut key = "";
    let mut value = None;
    let mut letters = text.bytes().enumerate();
    while let Some((at, letter)) = letters.next() {
        match (string, letter) {
            (Some(_), b'\\') => drop(letters.next()),
            (Some(begin), b'"') => {
                if depth == 1 && value.is_none() {
                    key = &text[begin..at];
                }
                string = None;
            }
            (Some(_), _) => {}
            (None, b'"') => string = Some(at + 1),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') if depth > 1 => depth -= 1,
            (None, b'}' | b']') => break,
            (None, b':') if depth == 1 && value.is_none() => value = Some(at + 1),
            (None, b',') if depth == 1 => {
                if let Some(begin) = value.take() {
                    end(mem::take(&mut key), &text[begin..at]);
                }
            }
            (None, _) => {}
        }
    }
    if let Some(begin) = value {
        let rest = &text[begin..];
        end(key, rest.trim_end().strip_suffix('}').unwrap_or(rest));
    }
    members
}
