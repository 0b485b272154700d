//! What the proofs of Madang's promise are made of. For tests only; see CONTRIBUTING, "How the promise is proven".
//!
//! - [`kill`]: a child process is killed with SIGKILL at random moments and at chosen points, again and again on one file.
//! - [`power`]: what the disk would hold after a power cut is built from recorded writes, and opened.
//! - [`workload`]: what happens in every one of them: people with plans, a model that follows them, tools that leave traces.
//! - [`oracle`]: what people were told and what tools did, written down outside.
//! - [`audit`]: what a store says is compared with the oracle.
//! - `failpoints`: what happens while a step of the runtime panics, fails, waits or ends the process.
//! - [`simulation`]: the whole runtime on one thread, on a clock that jumps, under a scheduler that draws from a seed.
//! - [`mistakes`]: what the drivers must find, or they prove nothing.
//! - [`fuzz`]: bytes that nobody thought of, through dispatch, the parser of tool calls and the envelope.

#[cfg(feature = "sqlite")]
pub mod audit;
pub mod dice;
#[cfg(all(feature = "sqlite", feature = "failpoints"))]
pub mod failpoints;
pub mod fuzz;
#[cfg(feature = "sqlite")]
pub mod kill;
#[cfg(feature = "sqlite")]
pub mod mistakes;
#[cfg(feature = "sqlite")]
pub mod oracle;
#[cfg(feature = "sqlite")]
pub mod power;
#[cfg(feature = "sqlite")]
pub mod simulation;
#[cfg(feature = "sqlite")]
pub mod workload;
