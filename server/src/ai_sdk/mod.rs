//! The AI SDK, versions 6 and 7: each turn is one message of the assistant, which has the turn's
//! id.
//!
//! **Flow.** `input` reads what a request should do. `handlers` begin a turn, decide or find a
//! turn, and make a message of one of these:
//!
//! - A turn that begins, or that is replayed from its beginning because the client resumes: the
//!   turn's events from its first entry on. An open request is asked after everything before it was
//!   sent.
//! - A message that continues after a decision: the events after the cursor from before the
//!   decision, with the decided call as shown. If the decision came too late, the events after the
//!   entry before the call's. So the client receives the real outcome and the rest of the turn.
//! - A message that has nothing new: its beginning and its end.
//!
//! `mapper` writes a turn as the parts of a message. `part` defines the parts, and `round` the
//! order of calls. `messages` writes the whole chat.
//!
//! **Invariants.**
//! - An output comes only for a call that the message shows.
//! - At most one call that does more than read is shown without an output.
//! - The stream ends at its approval request, with no other call open.
//! - Each tool part says that the tool ran here.
//! - A part that was streamed stays.

mod handlers;
mod input;
mod mapper;
mod message;
mod messages;
mod part;
mod round;
mod schema;
#[cfg(test)]
mod tests;

pub(crate) use handlers::routes;
