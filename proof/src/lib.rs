//! Tests that Madang's promise about tool calls holds under faults. An application can run them
//! with its own tools and its own store.
//!
//! A driver disturbs a [`workload`] of people with plans, a model that follows the plans, and tools
//! that leave traces. The [`oracle`] records, outside of the store, what people were told and what
//! tools did. The [`audit`] compares the store with the oracle.
//!
//! Drivers:
//! - [`kill`]: a child process is killed with SIGKILL at random moments and at chosen points, again
//!   and again on one file.
//! - [`serve`]: a server is killed again and again while its clients submit, read and answer over
//!   HTTP.
//! - [`kill`] once more, around the calls of [`remote`] tools, whose server keeps a book of them.
//! - [`power`]: the disk after a power cut is built from recorded writes, and opened.
//! - `failpoints`: each step of the runtime panics, fails, waits or ends the process.
//! - [`simulation`]: the whole runtime on one thread, with a clock that jumps and a scheduler that
//!   draws from a seed.
//! - [`stress`]: thousands of sessions at once, as fast as the machine is, while much goes wrong.
//! - [`kill`] and [`stress`] once more, on databases of a [`postgres`] server.
//! - [`fuzz`]: random bytes go through dispatch, the parser of tool calls and the envelope.
//!
//! [`mistakes`] lists planted mistakes, each of which at least one driver must find.

#![cfg_attr(
    not(feature = "sqlite"),
    allow(dead_code, reason = "stress alone needs a part of the workload")
)]

#[cfg(feature = "stress")]
pub mod audit;
pub mod dice;
#[cfg(all(feature = "sqlite", feature = "failpoints"))]
pub mod failpoints;
#[cfg(feature = "fuzz")]
pub mod fuzz;
#[cfg(feature = "sqlite")]
mod http;
#[cfg(feature = "sqlite")]
pub mod kill;
#[cfg(feature = "stress")]
pub mod mistakes;
#[cfg(any(feature = "stress", feature = "fuzz"))]
mod named;
#[cfg(feature = "stress")]
pub mod oracle;
#[cfg(feature = "sqlite")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod power;
#[cfg(feature = "sqlite")]
mod process;
#[cfg(feature = "sqlite")]
pub mod remote;
#[cfg(feature = "sqlite")]
pub mod serve;
#[cfg(feature = "sqlite")]
pub mod simulation;
#[cfg(feature = "stress")]
pub mod stress;
#[cfg(feature = "stress")]
pub mod workload;
