//! Contains the parts that the protocols of other projects share: a client's dialogue with a chat,
//! bodies with a client's history, approvals by an id, and streamed texts.
//!
//! A client of such a protocol sends its whole history each time, and the history decides nothing.
//! Only the last message of a body is used, and an approval is valid only for the digest in its id.
//! If the message is an earlier one with another text, the chat continues in a fork.
//!
//! - Reading: `raw` keeps JSON as text, `body` takes the last message of it, and `decision` reads a
//!   client's yes or no.
//! - Deciding: `approval_id` binds a decision to a call and its digest, and `decided` carries
//!   decisions out.
//! - Placing: `forks` finds the chat of a message, and `look_back` reads it from its end. `history`
//!   collects the texts of a chat, and `takeover` begins a chat with those of a client or of another
//!   chat.
//! - Answering: `dialogue` begins or finds a turn, decides, and opens the stream of the turn.
//! - Writing: `speech` begins and ends the texts of a stream, and `spoken` compares them with the
//!   stored ones. `cut` writes why a stream ended early, and `iso8601` writes moments.
//! - Testing: `scenes` has turns that each surface must write, and `scene` plays them to a mapper.
//!
//! Invariant: nothing that a client sends about earlier messages changes the chat.

pub(crate) mod approval_id;
pub(crate) mod body;
pub(crate) mod cut;
pub(crate) mod decided;
pub(crate) mod decision;
pub(crate) mod dialogue;
pub(crate) mod forks;
pub(crate) mod history;
pub(crate) mod iso8601;
mod look_back;
pub(crate) mod raw;
pub(crate) mod speech;
pub(crate) mod spoken;
pub(crate) mod takeover;

#[cfg(test)]
pub(crate) mod scene;
#[cfg(test)]
pub(crate) mod scenes;
