//! The actors of Madang: the vocabulary, the ports, and the five actors with their supervisor.
//!
//! Read in this order: `protocol` (plain data), `ledger` (the steps of a call), `port` (what an
//! application implements), `registry`, then the actors. None of these four imports one that comes
//! after it; `actors/tests/it/layers.rs` checks that, and the order of all modules.
//!
//! **Flow of a turn.** `session` stores the user's text and asks `llm` for a completion.
//! `dispatcher` checks each call of the completion, asks a person through `approval` if the tool is
//! destructive, and runs the handler. `store` commits the handler's writes together with the
//! ledger's steps. `session` passes the outcome to the model, and to its readers as events.
//!
//! **Invariants.**
//! - Actors decide nothing. Decisions are pure functions, which wait for nothing; tables test them.
//! - Each call ends in exactly one recorded outcome, and no handler begins twice.
//! - An actor that dies loses nothing that was published: `supervisor` starts it again, and the
//!   store has the facts.
//! - Applications use the crate `madang`, which exports what is public of this one.

#![forbid(unsafe_code)]

#[cfg(panic = "abort")]
compile_error!("Madang turns panics into outcomes, which needs `panic = \"unwind\"`");

pub mod admission;
pub mod approval;
pub mod call;
pub mod dispatcher;
pub mod failpoint;
pub mod ledger;
pub mod llm;
pub mod mailbox;
pub mod port;
pub mod protocol;
pub mod registry;
pub mod session;
pub mod store;
pub mod supervisor;
pub mod telemetry;

#[cfg(test)]
mod test_runtime;
/// The doubles of `madang-testing`, over the very types of these tests. As a crate it would have
/// its own.
#[cfg(test)]
#[path = "../../testing/src/lib.rs"]
pub mod testing;
#[cfg(test)]
extern crate self as madang_actors;
