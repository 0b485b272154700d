//! AG-UI 1.0: a session is a thread, and a run reports one turn.
//!
//! **Flow.** `input` reads what a run should do. A problem before the run is an HTTP answer.
//! `handlers` begin a turn, decide, dismiss or find a turn, and make a run of one of these:
//!
//! - A turn that begins: the chat before it, and the turn's own events.
//! - A turn that runs: the chat that is stored, and the events after its cursor. The request about
//!   which the client decided is in the chat.
//! - A turn that waits or is over, or no turn: the whole run at once. A decision that came too late
//!   is not an error. The run names its call and reports the present state of the turn.
//! - A run that cannot begin, because a turn runs (`busy`) or waits for a decision that the input
//!   does not have (`interrupt_open`): one error.
//!
//! `mapper` writes a turn as a run, with snapshots from `messages` and events from `event`.
//! `capabilities` describes what the surface can do.
//!
//! **Invariants**, which clients verify:
//! - `RUN_STARTED` or `RUN_ERROR` comes first. Nothing is open at `RUN_FINISHED`, nothing follows
//!   either end, and no field is null.
//! - A client's messages are those of the last snapshot, so a snapshot precedes each end that is
//!   not an error. It repairs what was streamed and not stored.
//! - A joined run begins with a snapshot of what is stored. If a message were streamed of which the
//!   client already has a part, it would be appended to that part.
//! - A client leaves its messages in their place and adds new ones of a snapshot at the end. So a
//!   client that lacks earlier messages gets an empty snapshot first.

mod capabilities;
mod event;
mod handlers;
mod input;
mod mapper;
mod messages;
mod run;
mod schema;
#[cfg(test)]
mod tests;

pub(crate) use handlers::routes;
