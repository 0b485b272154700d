//! Tests that the corpora and mutations of them break no promise. `make soak` hunts longer, and `fuzz/` uses a fuzzer.

use std::{panic::catch_unwind, time::Duration};

use madang_proof::fuzz::{Hunt, Target};

/// Hunts briefly: this many inputs, or fewer on a slow machine.
fn hunt(target: Target, executions: u64) {
    let hunt = Hunt { target, seed: 1, executions, time: Duration::from_secs(3) };
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

#[test]
fn a_promise_that_few_inputs_break_is_found_broken() {
    let hunt = Hunt {
        target: Target::Parser,
        seed: 1,
        executions: 100_000,
        time: Duration::from_secs(20),
    };
    let found = catch_unwind(|| {
        hunt.through(vec![b"<tool_call>{}</tool_call>".to_vec()], |bytes| {
            let text = String::from_utf8_lossy(bytes);
            assert!(!text.contains("</think></tool_call>"), "planted");
            text.contains("</think>").to_string()
        })
    });
    assert!(found.is_err(), "not found");
}
