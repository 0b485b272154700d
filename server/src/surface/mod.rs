//! What the protocols of other projects share: bodies with a client's history, approvals by an id, texts that were
//! streamed.
//!
//! A client of such a protocol sends its whole history each time. It decides nothing: of a body only the last message
//! counts, and an approval counts for the digest in its id alone.

pub(crate) mod approval_id;
pub(crate) mod body;
pub(crate) mod cut;
pub(crate) mod decided;
pub(crate) mod decision;
pub(crate) mod iso8601;
pub(crate) mod raw;
pub(crate) mod spoken;

#[cfg(test)]
pub(crate) mod scene;
#[cfg(test)]
pub(crate) mod scenes;
