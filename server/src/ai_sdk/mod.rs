//! The AI SDK, versions 6 and 7: each turn is one message of the assistant, whose id is the turn's.
//!
//! **Flow.** [`AiInput::read`] reads what a request is to do. The handler begins, decides or finds the turn, and makes
//! an [`AiMessage`] of it:
//!
//! - a turn that begins, or is told from its beginning because the client resumes: the turn's events from its first
//!   entry on. A request that is open is in [`AiMessage::waits`] with the cursor of the session's view;
//! - a message that goes on behind a decision: the events behind the cursor from before the decision, with the decided
//!   call in [`AiMessage::shown`]. Where the decision came too late, the events behind the entry before the call's: the
//!   client hears the outcome that is, and the rest of the turn;
//! - a message in which nothing is new: [`write_nothing`].
//!
//! [`messages`] gives the whole chat. Where [`AiIntent::Again`] begins a turn, [`AiIntent::again`] gives its key.
//!
//! **Invariants.** An output comes only for a call that the message shows. At most one call that does more than read is
//! shown without an output, and the stream ends at its approval request with no other call open. Each tool part says
//! that the tool ran here. A part that was streamed stays.

mod input;
mod mapper;
mod message;
mod messages;
mod part;
mod round;
#[cfg(test)]
mod tests;

pub(crate) use input::{AiInput, AiIntent};
pub(crate) use mapper::AiMapper;
pub(crate) use message::{AiMessage, write_nothing};
pub(crate) use messages::{AiUiMessage, messages};
