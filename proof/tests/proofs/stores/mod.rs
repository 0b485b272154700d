//! Model against store: whatever is done to the memory store and to SQLite, both answer the same, errors included.
//!
//! `facts` says what can be done: a new fact or question of the port is a line there or in `compare`.

mod compare;
mod facts;

use std::cell::RefCell;

use madang::{
    store::{SqliteStore, Store},
    tool::BoxFuture,
};
use madang_actors::port::Transaction;
use madang_testing::{MemoryStore, StepResult, SteppedStore, Steps};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use compare::{Answers, agree};
use facts::operations;

/// Sequences a day; `PROPTEST_CASES` says otherwise.
const CASES: u32 = 64;

fn runner() -> TestRunner {
    let config = Config::default();
    // The variable is read by proptest; its own default is more than a day needs.
    let is_chosen = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if is_chosen { config.cases } else { CASES };
    // A sequence that fails is printed whole, and becomes a test of its own.
    TestRunner::new(Config { cases, failure_persistence: None, ..config })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn the_memory_store_and_sqlite_answer_alike_whatever_is_done() {
    let (runtime, answers) = (runtime(), RefCell::new(Answers::default()));
    runner()
        .run(&operations(), |operations| {
            runtime.block_on(async {
                let sqlite = SqliteStore::in_memory([&*compare::VALUES]).await.unwrap();
                let memory = MemoryStore::with_keys(sqlite.keys().clone());
                let agreed = agree(&memory, &sqlite, &operations).await;
                sqlite.close().await;
                answers.borrow_mut().add(agreed.map_err(TestCaseError::fail)?);
                Ok(())
            })
        })
        .unwrap_or_else(|error| panic!("{error}"));
    let Answers { taken, refused, illegal, impossible } = answers.into_inner();
    let met = [taken, refused, illegal, impossible];
    assert!(met.iter().all(|count| *count >= 20), "hardly met: {met:?}");
}

#[test]
fn a_store_that_keeps_what_was_undone_is_found() {
    let runtime = runtime();
    let found = runner().run(&operations(), |operations| {
        let one = MemoryStore::new();
        let other = MemoryStore::with_keys(one.keys().clone());
        let other = SteppedStore::new(other, Forgetful);
        let agreed = runtime.block_on(agree(&one, &other, &operations));
        agreed.map(drop).map_err(TestCaseError::fail)
    });
    assert!(found.is_err(), "nobody noticed");
}

/// A mistake: what should be undone is kept.
#[derive(Debug)]
struct Forgetful;

impl Steps for Forgetful {
    fn undo<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        of.keep()
    }
}
