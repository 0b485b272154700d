//! The program `eval`: runs cases through the real runtime with any model, and scores the results.
//!
//! - `args` parses the command line, and `model` loads the model.
//! - `cases` reads files of `case`s and checks the seal of a sealed file.
//! - `judging` chooses the cases, runs one after another, and prints the report.
//! - `run` makes a fresh database, a session, and a person that answers as the case says. `tables`
//!   reads the rows.
//! - `player` plays the past turns and passes the others to the model, with the stable ids of
//!   `aliases`.
//! - `score` compares the calls (`arguments`), rows and texts (`claims`) with the expectation.
//! - `report` counts the verdicts.
//!
//! ```text
//! case --run--> Seen --score--> Marks, complaints --> Verdict --> Report
//! ```
//!
//! Invariants:
//! - Each case has its own database and runtime, and a clock that stands still.
//! - A sealed case is counted, but its content is never printed without `--show-sealed`.
//! - An error of the runtime ends the program: it never counts against the model.

mod aliases;
mod args;
mod arguments;
mod case;
mod cases;
mod claims;
mod failure;
mod input;
mod judging;
mod language;
mod model;
mod output;
mod player;
mod report;
mod run;
mod score;
mod tables;
mod toolkit;

use std::process::ExitCode;

use clap::Parser as _;

use args::Args;
use failure::Failure;

/// Returns 0 if all cases ran, and 1 after a failure; clap ends wrong usage with 2.
fn main() -> ExitCode {
    let wanted = Args::parse();
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = threads
        .map_err(|cause| Failure::because("failed to start the program's threads", cause))
        .and_then(|threads| threads.block_on(Box::pin(judging::run(wanted))));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::failure(&failure),
    }
}
