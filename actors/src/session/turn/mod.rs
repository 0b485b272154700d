//! One turn of a session: from the stored user message to its end.
//!
//! `machine`, `recovery` and `fall_back` are pure. The first takes an input and returns effects.
//! The second takes the stored facts of an open turn and returns a plan. The third decides which
//! model is asked in place of one that failed. `active` is what a session holds of the running
//! turn. The other files carry out what these decide, as methods of the session's state, which send
//! by its outbox:
//!
//! - `begin` checks what was submitted, finds the turn of its key by a `lookup`, and opens a turn.
//! - `effects` carries out what the turn decides, and what follows a write after its `write_report`
//!   has come.
//! - `completion` asks the model. `calls` records and dispatches the calls, and takes their events.
//! - `dismissal` stops a turn or suspends it.
//! - `left_open` carries out a recovery plan, before the session wakes, and `resumption` goes on
//!   from there. `room` lets the turn wait for its place among the running turns.
//! - `lost_reply` reads in the ledger what became of a call whose reply was lost, and `sign` reads in
//!   the store what became of a write.
//! - `effect_resolution` records what a person says that a call with an unknown effect did.
//!
//! Invariants:
//! - A turn ends exactly once, after all calls that it began have their outcome in the store.
//! - A call whose handler was recorded as begun is never dispatched again.
//! - A dismissal keeps what was written. If the turn is to stop, no other call begins.

pub(super) mod active;
pub(super) mod begin;
mod calls;
mod completion;
mod dismissal;
pub(super) mod effect_resolution;
mod effects;
mod fall_back;
pub(super) mod left_open;
pub(super) mod lookup;
pub(super) mod lost_reply;
pub(super) mod machine;
mod recovery;
mod resumption;
mod room;
pub(super) mod sign;
#[cfg(test)]
mod tests;
pub(super) mod write_report;
