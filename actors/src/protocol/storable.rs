//! The bounds within which each value can be written and read again: one on depth and one on size.
//!
//! serde_json reads 127 levels and SQLite's JSON functions 1,000. A value is stored inside of a
//! step, and published inside of an event, so the bound leaves room for the levels around it.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{ToolCancelled, ToolErr, ToolOk, ToolOutcome};

/// The most levels of nested lists and objects in any value that is written.
pub const MAX_LEVELS: usize = 100;

/// The most bytes of JSON of any value that is written: a sixtieth of what SQLite takes in a row.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// A reason why a value is not written: it could not be read again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unstorable {
    /// Lists and objects lie too deep in each other.
    #[error("a value is nested deeper than {max_levels} levels")]
    TooDeep {
        /// The most levels allowed.
        max_levels: usize,
    },
    /// The value is too long as JSON.
    #[error("a value takes more than {max_bytes} bytes")]
    TooLong {
        /// The most bytes allowed.
        max_bytes: usize,
    },
}

/// Checks that a value can be written and read again, in at most `max_bytes` of JSON. No value is
/// deep enough to overflow the stack here.
///
/// # Errors
/// [`Unstorable`] says which bound the value passes.
pub fn storable(value: &Value, max_bytes: usize) -> Result<(), Unstorable> {
    if is_deeper(value, MAX_LEVELS) {
        return Err(Unstorable::TooDeep { max_levels: MAX_LEVELS });
    }
    fits(value, [value], max_bytes)
}

/// Counts the bytes of a whole. The depth of its parts is already bounded, so the writer may
/// recurse. A text that is too long is refused by its length, without a look at each byte.
fn fits<'v>(
    whole: &impl Serialize,
    parts: impl IntoIterator<Item = &'v Value>,
    max_bytes: usize,
) -> Result<(), Unstorable> {
    let max_bytes = max_bytes.min(MAX_BYTES);
    let least = text_bytes(parts);
    let bytes = if least > max_bytes { None } else { json_bytes(whole, max_bytes) };
    bytes.map(drop).ok_or(Unstorable::TooLong { max_bytes })
}

/// Sums up the lengths of all texts and names in values, with their quotation marks. Does not
/// recurse.
fn text_bytes<'v>(values: impl IntoIterator<Item = &'v Value>) -> usize {
    let mut waiting: Vec<&Value> = values.into_iter().collect();
    let mut bytes = 0;
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(fields) => {
                bytes += fields.keys().map(|name| name.len() + 2).sum::<usize>();
                waiting.extend(fields.values());
            }
            Value::String(text) => bytes += text.len() + 2,
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    bytes
}

/// Returns the bytes of a value as JSON, or `None` if they are more than this.
pub(crate) fn json_bytes(value: &impl Serialize, max_bytes: usize) -> Option<usize> {
    let mut room = Room(max_bytes);
    serde_json::to_writer(&mut room, value).ok()?;
    Some(max_bytes - room.0)
}

/// Does the same for a text.
///
/// # Errors
/// [`Unstorable::TooLong`] if it has more bytes.
pub const fn storable_text(text: &str, max_bytes: usize) -> Result<(), Unstorable> {
    let max_bytes = if max_bytes < MAX_BYTES { max_bytes } else { MAX_BYTES };
    if text.len() > max_bytes { Err(Unstorable::TooLong { max_bytes }) } else { Ok(()) }
}

impl ToolOutcome {
    /// Checks that each part of the outcome can be written and read again, in at most `max_bytes`
    /// of JSON.
    ///
    /// # Errors
    /// [`Unstorable`] says which bound a part passes.
    pub fn storable(&self, max_bytes: usize) -> Result<(), Unstorable> {
        let metadata = match self {
            Self::Ok(ToolOk { data, metadata }) => {
                storable(data, max_bytes)?;
                metadata
            }
            Self::Err(ToolErr { code, reason, metadata }) => {
                storable_text(code, max_bytes)?;
                storable_text(reason, max_bytes)?;
                metadata
            }
            Self::Cancelled(ToolCancelled { message, metadata, .. }) => {
                storable_text(message.as_deref().unwrap_or_default(), max_bytes)?;
                metadata
            }
        };
        // The map itself is one level.
        if metadata.values().any(|value| is_deeper(value, MAX_LEVELS - 1)) {
            return Err(Unstorable::TooDeep { max_levels: MAX_LEVELS });
        }
        fits(metadata, metadata.values(), max_bytes)
    }

    /// Drops the outcome without recursion. An outcome that is too deep to be stored may be too
    /// deep for the stack.
    pub fn dismantle(self) {
        match self {
            Self::Ok(ToolOk { data, metadata }) => {
                dismantle(data);
                dismantle_all(metadata);
            }
            Self::Err(ToolErr { metadata, .. })
            | Self::Cancelled(ToolCancelled { metadata, .. }) => dismantle_all(metadata),
        }
    }
}

/// Returns whether lists and objects are nested deeper than this. Does not recurse.
#[must_use]
pub fn is_deeper(value: &Value, max_levels: usize) -> bool {
    let mut waiting = vec![(value, 1)];
    while let Some((value, level)) = waiting.pop() {
        match value {
            Value::Array(_) | Value::Object(_) if level > max_levels => return true,
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(fields) => {
                waiting.extend(fields.values().map(|field| (field, level + 1)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

/// Drops a value without recursion.
pub fn dismantle(value: Value) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(fields) => waiting.extend(fields.into_iter().map(|(_, field)| field)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn dismantle_all(fields: Map<String, Value>) {
    dismantle(Value::Object(fields));
}

/// Counts bytes up to a bound, and keeps none.
struct Room(usize);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.checked_sub(bytes.len()) {
            Some(left) => {
                self.0 = left;
                Ok(bytes.len())
            }
            None => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!([]), |inner, _| Value::Array(vec![inner]))
    }

    #[test]
    fn the_deepest_value_that_is_stored_is_read_again_inside_of_what_is_around_it() {
        assert_eq!(storable(&nested(MAX_LEVELS), MAX_BYTES), Ok(()));
        let around = (0..20).fold(nested(MAX_LEVELS), |inner, _| json!({ "in": inner }));
        assert!(serde_json::from_str::<Value>(&around.to_string()).is_ok());
        let refused = Err(Unstorable::TooDeep { max_levels: MAX_LEVELS });
        assert_eq!(storable(&nested(MAX_LEVELS + 1), MAX_BYTES), refused);
    }

    #[test]
    fn the_size_counts_as_json_to_the_byte() {
        for value in [json!("\u{1}\n가"), json!({ "k": [1, 2.5, null] }), json!([])] {
            let bytes = value.to_string().len();
            assert_eq!(storable(&value, bytes), Ok(()), "{value}");
            let refused = Err(Unstorable::TooLong { max_bytes: bytes - 1 });
            assert_eq!(storable(&value, bytes - 1), refused, "{value}");
        }
    }

    #[test]
    fn no_bound_of_a_caller_passes_the_bound_of_all() {
        let text = "x".repeat(MAX_BYTES);
        let refused = Err(Unstorable::TooLong { max_bytes: MAX_BYTES });
        assert_eq!(storable(&Value::String(text), usize::MAX), refused);
    }

    #[test]
    fn every_part_of_an_outcome_counts() {
        let deep = || {
            let mut value = json!([]);
            for _ in 0..100_000 {
                value = Value::Array(vec![value]);
            }
            value
        };
        let long = "x".repeat(101);
        let outcomes = [
            ToolOutcome::ok(deep()),
            ToolOutcome::ok(json!(long)),
            ToolOutcome::ok(Value::Null).with_metadata("deep", deep()),
            ToolOutcome::ok(Value::Null).with_metadata(long.clone(), Value::Null),
            ToolOutcome::error("code", long.clone()),
            ToolOutcome::error(long.clone(), ""),
            ToolOutcome::error("code", "").with_metadata("deep", deep()),
            ToolOutcome::denied(Some(long.into())),
        ];
        for outcome in outcomes {
            assert!(outcome.storable(100).is_err());
            outcome.dismantle();
        }
        assert_eq!(ToolOutcome::ok(json!("x".repeat(98))).storable(100), Ok(()));
    }
}
