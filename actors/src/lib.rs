//! The core of Madang: the vocabulary, the ports, and the five actors with their supervisor.
//!
//! Read in this order: `protocol` (plain data), `port` (what the outside implements), `registry`, `ledger`, then the
//! actors. Modules further down this list never import those after them; `actors/tests/layers.rs` checks it.

#![forbid(unsafe_code)]

#[cfg(panic = "abort")]
compile_error!("Madang turns panics into outcomes, which needs `panic = \"unwind\"`");

pub mod admission;
pub mod approval;
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
/// The doubles of `madang-testing`, over the very types that these tests see: as a crate it would bring its own.
#[cfg(test)]
#[path = "../../testing/src/lib.rs"]
pub mod testing;
#[cfg(test)]
extern crate self as madang_actors;
