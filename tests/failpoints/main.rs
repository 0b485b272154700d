//! Whatever goes wrong at whichever step, what tools did is not lost, not done twice, not done unasked and not
//! misreported: each failpoint of the sources panics, fails, waits and ends the process, one after the other.
//!
//! Failpoints belong to the whole process, so each kind of mishap runs in a process of its own.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod audit;
mod child;
mod evening;
mod oracle;
mod sources;
mod stages;
mod tools;

use std::{collections::BTreeSet, path::Path};

use child::Child;
use oracle::Oracle;

/// The steps that the evening of a healthy runtime comes by must be all that there are.
#[test]
fn every_failpoint_of_the_sources_is_reached() {
    let in_sources: BTreeSet<String> = sources::failpoints().into_iter().collect();
    let reached: BTreeSet<String> = Child::of("reach").lines().into_iter().collect();
    assert_eq!(in_sources, reached, "in the sources, and reached");
    assert!(in_sources.len() >= 60, "{} failpoints", in_sources.len());
}

#[test]
fn a_name_stands_at_one_place_only() {
    let mut names = sources::failpoints();
    names.sort();
    let unique: BTreeSet<&String> = names.iter().collect();
    assert_eq!(names.len(), unique.len(), "{names:?}");
}

#[test]
fn a_panic_at_any_step_breaks_no_promise() {
    assert_eq!(Child::of("panic").lines(), Vec::<String>::new());
}

#[test]
fn an_error_at_any_step_breaks_no_promise() {
    assert_eq!(Child::of("error").lines(), Vec::<String>::new());
}

#[test]
fn a_delay_at_any_step_breaks_no_promise() {
    assert_eq!(Child::of("delay").lines(), Vec::<String>::new());
}

#[test]
fn the_end_of_the_process_at_any_step_breaks_no_promise() {
    let mut broken = Vec::new();
    for name in sources::failpoints() {
        let folder = tempfile::tempdir().unwrap();
        let mut oracle = Oracle::default();
        for line in Child::of("kill").at(&name, folder.path()).lines() {
            oracle.read(&line);
        }
        broken.extend(
            afterwards(folder.path(), &oracle).into_iter().map(|what| format!("{name}: {what}")),
        );
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// A bug that a test plants, and what the audit must say of it.
#[test]
fn each_planted_bug_is_found() {
    for (bug, found) in [
        ("a write is acknowledged before its commit", "lost"),
        ("the writes of a failed handler are kept", "misreported"),
        ("the record is written behind the writes", "misreported"),
        ("what passed its deadline is called undone", "misreported"),
        ("what was discarded is called undone", "misreported"),
        ("an unknown effect is called none", "misreported"),
        ("a resolution is turned round", "misreported"),
        ("a handler runs twice", "doubled"),
        ("a call runs without its question", "unasked"),
        ("a no counts as a yes", "unasked"),
        ("arguments are swapped after the approval", "unasked"),
        ("a step is left out of the chain", "chain"),
    ] {
        let lines = Child::of("plant").with(bug).lines();
        assert!(lines.iter().any(|line| line.contains(found)), "{bug}: {lines:?}");
    }
}

fn afterwards(folder: &Path, oracle: &Oracle) -> Vec<String> {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    threads.block_on(audit::of(folder, oracle))
}
