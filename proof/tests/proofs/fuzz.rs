//! Tests that no bytes break a promise: the corpora, and inputs put together from their parts,
//! words and random bytes. `scripts/fuzz.sh` looks longer, with libFuzzer.

use std::{cell::RefCell, collections::HashSet};

use madang_proof::fuzz::Target;
use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestRunner};

/// A part of an input of the corpus, a word of the target, a word many times, or random bytes.
fn part(target: Target) -> impl Strategy<Value = Vec<u8>> {
    let word = || select(target.dictionary()).prop_map(|word| word.as_bytes().to_vec());
    let input = select(target.corpus().expect("the corpus can be read"));
    let part_of_input = (input, any::<(prop::sample::Index, prop::sample::Index)>());
    prop_oneof![
        4 => part_of_input.prop_map(|(input, (one, other))| {
            let one = one.index(input.len() + 1);
            let other = other.index(input.len() + 1);
            input[one.min(other)..one.max(other)].to_vec()
        }),
        4 => word(),
        // Depth and length: many may fail where one does not.
        1 => (word(), 1..300_usize).prop_map(|(word, times)| word.repeat(times)),
        2 => vec(any::<u8>(), 1..16),
    ]
}

fn keeps_its_promises(target: Target) {
    let ways = RefCell::new(HashSet::new());
    for input in target.corpus().expect("the corpus can be read") {
        ways.borrow_mut().insert(target.run(&input));
    }
    let of_corpus = ways.borrow().len();
    let inputs = vec(part(target), 1..8).prop_map(|parts| parts.concat());
    let runner = TestRunner::new(ProptestConfig { cases: 1_000, ..ProptestConfig::default() });
    let ran = { runner }.run(&inputs, |input| {
        ways.borrow_mut().insert(target.run(&input));
        Ok(())
    });
    ran.unwrap_or_else(|broken| panic!("{}: {broken}", target.name()));
    let ways = ways.into_inner().len();
    assert!(ways > of_corpus, "no input took another way than the {of_corpus} of the corpus");
}

#[test]
fn no_bytes_make_dispatch_break_its_promises() {
    keeps_its_promises(Target::Dispatch);
}

#[test]
fn no_bytes_make_the_parser_of_tool_calls_depend_on_how_they_come() {
    keeps_its_promises(Target::Parser);
}

#[test]
fn no_bytes_make_an_envelope_too_long_or_untrue() {
    keeps_its_promises(Target::Envelope);
}
