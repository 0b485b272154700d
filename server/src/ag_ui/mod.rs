//! AG-UI 1.0: a session is a thread, and a run tells one turn.
//!
//! **Flow.** `input` reads what a run is to do; a problem before the run is an HTTP answer. `handlers` begin, decide,
//! dismiss or find the turn, and make a run of what they find:
//!
//! - a turn that begins: the chat before it, and the turn's own events;
//! - a turn that runs: the chat that is stored, and the events behind its cursor. The request about which the client
//!   decided is in the chat;
//! - a turn that waits or is over, or no turn: the whole run at once. A decision that came too late is no error: the run
//!   names its call and tells what is;
//! - a run that cannot begin, because a turn runs (`busy`) or waits for a decision that the input does not have
//!   (`interrupt_open`): one error.
//!
//! `mapper` tells a turn as a run, from `messages` as snapshots and from `event`. `capabilities` says what a client may
//! expect.
//!
//! **Invariants**, which clients verify: `RUN_STARTED` or `RUN_ERROR` comes first, nothing is open at `RUN_FINISHED`,
//! nothing comes behind either end, and no field is null. A client's messages are those of the last snapshot, so a
//! snapshot stands before each end that is no error. It repairs what was streamed and not stored. Streaming a message
//! of which the client has a part would append: a joined run begins with a snapshot of what is stored. A client leaves
//! its messages in their place and puts new ones of a snapshot at the end. So a client that lacks earlier messages gets
//! an empty snapshot first.

mod capabilities;
mod event;
mod handlers;
mod input;
mod mapper;
mod messages;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use handlers::routes;
