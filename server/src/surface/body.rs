//! Reads bodies with a client's whole history, of which the last message counts.

use madang::IdempotencyKey;
use serde::Deserialize;

use super::raw::Raw;
use crate::{ServerLimits, ask::Ask, problem::Problem};

/// Takes a body that may have as many bytes as a history.
///
/// # Errors
/// Returns a problem if it is too long or is not JSON.
pub(crate) fn read<'a>(body: &'a [u8], limits: &ServerLimits) -> Result<Raw<'a>, Problem> {
    if body.len() > limits.max_history_body_bytes {
        return Err(Problem::too_long(Some(body.len()), limits.max_history_body_bytes));
    }
    let unreadable = |cause: &dyn std::fmt::Display| {
        Problem::malformed(format!("The body is not JSON: {cause}."))
    };
    let text = std::str::from_utf8(body).map_err(|cause| unreadable(&cause))?;
    Raw::new(text).map_err(|cause| unreadable(&cause))
}

/// Makes the problem of a pointer into a body.
pub(crate) fn wrong_at(pointer: impl Into<String>, detail: &'static str) -> Problem {
    Problem::malformed(detail).at(pointer, detail)
}

/// Reads a member that must be there.
///
/// # Errors
/// Returns a problem if it is missing, or is of another type.
pub(crate) fn required<'a, T: Deserialize<'a>>(body: Raw<'a>, key: &str) -> Result<T, Problem> {
    body.read_member(key)
        .ok_or_else(|| wrong_at(format!("/{key}"), "This is missing or of another type."))
}

/// Reads which person a client wants to be asked.
///
/// # Errors
/// Returns a problem if the value is something else.
pub(crate) fn read_ask(value: Option<Raw<'_>>, pointer: &str) -> Result<Option<Ask>, Problem> {
    let Some(value) = value else { return Ok(None) };
    let ask = value
        .read::<Ask>()
        .ok_or_else(|| wrong_at(pointer, "This must be here, elsewhere or none."))?;
    Ok(Some(ask))
}

/// A text that the user submits. Its key, the message's own id, makes it safe to submit again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// The key of the submit.
    pub(crate) key: IdempotencyKey,
    /// The user's words.
    pub(crate) text: String,
}

impl Said {
    /// Takes the id of the message at this position in the body, and its text.
    ///
    /// # Errors
    /// Returns a problem if the id cannot be a key.
    pub(crate) fn new(message: Raw<'_>, pointer: &str, text: String) -> Result<Self, Problem> {
        let id = message.read_member::<String>("id");
        let key = id.and_then(|id| IdempotencyKey::new(id).ok()).ok_or_else(|| {
            wrong_at(
                format!("{pointer}/id"),
                "The id of a user message has 1 to 256 bytes and no control characters.",
            )
        })?;
        Ok(Self { key, text })
    }
}

/// Joins the texts of a message's parts.
///
/// # Errors
/// Returns a problem with the pointer of a part that cannot be taken, or of the list if there is
/// none.
pub(crate) fn text_of(
    parts: Option<Raw<'_>>,
    pointer: &str,
    is_refused: impl Fn(&str) -> bool,
) -> Result<String, Problem> {
    let parts = parts
        .and_then(Raw::elements)
        .ok_or_else(|| wrong_at(pointer, "This must be a list of parts with text."))?;
    let mut text = String::new();
    for (at, part) in parts.enumerate() {
        let kind = part.read_member::<String>("type").unwrap_or_default();
        if is_refused(&kind) {
            let pointer = format!("{pointer}/{at}");
            return Err(wrong_at(pointer, "Only text can be sent."));
        }
        if let ("text", Some(piece)) = (&*kind, part.read_member::<String>("text")) {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&piece);
        }
    }
    Ok(text)
}

/// Makes the problem of a list that has more entries than one request may have.
pub(crate) fn too_many_at(pointer: &str, max: usize) -> Problem {
    wrong_at(pointer, "These are too many decisions at once.").with("max", max)
}
