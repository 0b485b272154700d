//! One turn of a session: from the stored user message to its end.
//!
//! `machine`, `recovery` and `fall_back` are pure. The first takes an input and gives effects. The second takes the
//! stored facts of an open turn and gives a plan. The third says which model is asked in place of one that failed. The
//! other files carry out what these decide, as methods of the session's state:
//!
//! - `begin` checks what was submitted, finds the turn of its key, and opens a turn.
//! - `effects` says which method carries out which effect.
//! - `completion` asks the model; `calls` records and dispatches the calls, and takes their events.
//! - `persist` writes, and publishes what came back by a `write_report`; `dismissal` stops a turn or suspends it.
//! - `left_open` carries out a recovery plan, before the session wakes; `resumption` goes on from there.
//!   `room` lets it wait for its place among the running turns.
//! - `lost_reply` asks the ledger what became of a call whose reply was lost.
//! - `effect_resolution` records what a person says that a call with an unknown effect did.
//!
//! Invariants:
//! - A turn ends exactly once, after all calls that it began have their outcome in the store.
//! - A call whose handler was recorded as begun is never dispatched again.
//! - A dismissal keeps what was written. Where the turn is to stop, no other call begins.

pub(super) mod begin;
mod calls;
mod completion;
mod dismissal;
pub(super) mod effect_resolution;
mod effects;
mod fall_back;
pub(super) mod left_open;
pub(super) mod lost_reply;
pub(super) mod machine;
mod persist;
mod recovery;
mod resumption;
mod room;
#[cfg(test)]
mod tests;
mod write_report;
