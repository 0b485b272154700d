//! DispatcherActor and the running call: check, clear, run. Every call ends in exactly one outcome (spec, section 2).
//!
//! The order is a compile error to break: only `check` makes a `CheckedCall`, only `clear` a
//! `ClearedCall`, and only that one can run.

mod actor;
mod answering;
mod around;
mod call;
mod check;
mod clear;
mod lines;
mod msg;
mod places;
mod question;
mod record;
mod run;
#[cfg(test)]
mod tests;

pub use actor::DispatcherActor;
pub use around::Around;
pub use msg::{CallEnd, Dismissal, DispatchRequest, DispatcherEvent, DispatcherMsg};
pub use record::{end_of_lost, settle};
