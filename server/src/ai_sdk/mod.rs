//! The AI SDK, versions 6 and 7: each turn is one message of the assistant, whose id is the turn's.
//!
//! **Flow.** `input` reads what a request is to do. `handlers` begin, decide or find the turn, and make a message of it:
//!
//! - a turn that begins, or is told from its beginning because the client resumes: the turn's events from its first
//!   entry on. A request that is open is asked behind what the client is told before;
//! - a message that goes on behind a decision: the events behind the cursor from before the decision, with the decided
//!   call as shown. Where the decision came too late, the events behind the entry before the call's. So the client
//!   hears the real outcome and the rest of the turn;
//! - a message in which nothing is new: its beginning and its end.
//!
//! `mapper` tells a turn as the parts of a message, of which `part` has the forms and `round` the order of calls.
//! `messages` gives the whole chat.
//!
//! **Invariants.** An output comes only for a call that the message shows. At most one call that does more than read is
//! shown without an output. The stream ends at its approval request with no other call open. Each tool part says that
//! the tool ran here. A part that was streamed stays.

mod handlers;
mod input;
mod mapper;
mod message;
mod messages;
mod part;
mod round;
#[cfg(test)]
mod tests;

pub(crate) use handlers::routes;
