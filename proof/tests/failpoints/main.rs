//! Tests that no effect is lost, doubled, unasked or misreported, whichever step fails. Each
//! failpoint of the sources in turn panics, fails, waits and ends the process.
//!
//! Failpoints belong to the whole process, so each kind of mishap runs in a process of its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod child;
mod sources;
mod stages;

use std::{collections::BTreeSet, path::Path};

use child::Child;
use madang_proof::{
    audit::{Counter, Findings},
    failpoints,
    oracle::Oracle,
};

/// The steps of a healthy evening must be all steps of the sources.
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
            oracle.note(serde_json::from_str(&line).unwrap());
        }
        let found = sentences(&afterwards(folder.path(), oracle));
        broken.extend(found.into_iter().map(|what| format!("{name}: {what}")));
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// Each mistake outside of the runtime must raise its finding.
#[test]
fn each_mistake_is_found() {
    for (mistake, found) in [
        ("store-loses-commits", "lost"),
        ("store-keeps-undone", "misreported"),
        ("store-calls-unknown-none", "misreported"),
        ("store-turns-effects-round", "misreported"),
        ("store-turns-resolutions-round", "misreported"),
        ("tool-acts-twice", "doubled"),
        ("tool-swaps-arguments", "unasked"),
        ("tool-calls-itself-harmless", "unasked"),
        ("tool-writes-elsewhere", "misreported"),
        ("front-end-says-yes", "unasked"),
    ] {
        let lines = Child::of("mistake").with(mistake).lines();
        assert!(lines.iter().any(|line| line.starts_with(found)), "{mistake}: {lines:?}");
    }
}

fn afterwards(folder: &Path, oracle: Oracle) -> Findings {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    threads.block_on(failpoints::afterwards(folder, oracle))
}

/// Lists all findings.
fn sentences(findings: &Findings) -> Vec<String> {
    let of = |counter| findings.of(counter).map(move |what| format!("{}: {what}", counter.name()));
    Counter::ALL.into_iter().flat_map(of).collect()
}
