//! The proofs of the promise, each short enough for every day, and each with the mistakes that it must find.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod disk;
mod file;
mod fuzz;
mod kill;
mod plan;
mod power_cut;
mod simulation;
mod stores;
