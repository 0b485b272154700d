//! Reads texts and counts of a frame.

use serde_json::Value;

/// Returns a text of a frame, or an empty one if there is none.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Reads a count of tokens, if there is one.
pub(super) fn tokens(value: &Value, pointer: &str) -> Option<u32> {
    let count = value.pointer(pointer)?.as_u64()?;
    Some(u32::try_from(count).unwrap_or(u32::MAX))
}
