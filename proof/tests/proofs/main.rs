//! Runs the proofs of the promise, short enough for every day, and the mistakes that each must
//! find.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod away;
mod disk;
mod file;
mod fuzz;
mod imports;
mod kill;
mod late;
mod plan;
mod postgres;
mod power_cut;
mod remote;
mod serve;
mod simulation;
mod stores;
mod stress;
