//! The parts that the protocols of other projects share: bodies with a client's history, approvals by an id, streamed
//! texts.
//!
//! A client of such a protocol sends its whole history each time. It decides nothing: of a body only the last message
//! counts, and an approval counts for the digest in its id alone.
//!
//! - Reading: `raw` keeps JSON as text, `body` takes the last message of it, and `decision` reads a client's yes or no.
//! - Deciding: `approval_id` binds a decision to a call and its digest, and `decided` carries decisions out.
//! - Telling: `spoken` compares a streamed text with the stored one, `cut` says why a stream ended early, and `iso8601`
//!   writes moments.
//! - Testing: `scenes` has turns that each surface must tell, and `scene` plays them to a mapper.
//!
//! Invariant: nothing that a client says of earlier messages changes the chat.

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
