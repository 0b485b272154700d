//! Bytes that nobody thought of: the corpora, and mutations of them, break no promise. `make soak` hunts longer, and
//! `fuzz/` with a fuzzer.

use std::time::Duration;

use madang_proof::fuzz::{Hunt, Target};

/// A hunt of an everyday length: so many inputs, or less on a slow machine.
fn hunt(target: Target, executions: u64) {
    let hunt = Hunt { target, seed: 1, executions, time: Duration::from_secs(4) };
    let ended = hunt.run().unwrap();
    assert!(ended.executions > 500, "hardly anything was tried: {ended:?}");
    assert!(ended.ways >= 8, "all went the same way: {ended:?}");
}

#[test]
fn no_bytes_make_dispatch_break_its_promises() {
    hunt(Target::Dispatch, 4_000);
}

#[test]
fn no_bytes_make_the_parser_of_tool_calls_depend_on_how_they_come() {
    hunt(Target::Parser, 20_000);
}

#[test]
fn no_bytes_make_an_envelope_too_long_or_untrue() {
    hunt(Target::Envelope, 20_000);
}
