//! Tests that the memory store, SQLite and PostgreSQL give the same answers and errors to the same
//! operations.
//!
//! `facts` generates the operations: a new fact or question of the port is a line there or in
//! `compare`.

mod compare;
mod facts;

use std::cell::RefCell;

use madang::{
    store::{PostgresStore, SqliteStore, Store},
    tool::BoxFuture,
};
use madang_actors::port::Transaction;
use madang_proof::postgres::Database;
use madang_testing::{MemoryStore, StepResult, SteppedStore, Steps};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use compare::{Answers, agree};
use facts::{Operation, operations};

use crate::postgres::server;

/// The sequences of each run; `PROPTEST_CASES` overrides it.
const CASES: u32 = 64;

/// The same on a server, where each has a database of its own and each answer a way to go.
const CASES_ON_A_SERVER: u32 = 16;

fn runner(cases: u32) -> TestRunner {
    let config = Config::default();
    // proptest reads the variable; its own default is more than a day needs.
    let is_chosen = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if is_chosen { config.cases } else { cases };
    // A failing sequence is printed whole, and becomes a test of its own.
    TestRunner::new(Config { cases, failure_persistence: None, ..config })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn the_memory_store_and_sqlite_answer_every_operation_alike() {
    answers_like_memory(CASES, &async |operations| {
        let sqlite = SqliteStore::in_memory().migrations("values", &compare::VALUES);
        like_memory(sqlite.await.unwrap(), operations).await
    });
}

#[test]
fn the_memory_store_and_postgres_answer_every_operation_alike() {
    let Some(server) = server() else { return };
    answers_like_memory(CASES_ON_A_SERVER, &async |operations| {
        let database = Database::make(&server).await.unwrap();
        let store = PostgresStore::options(database.url()).migrations("values", &compare::VALUES);
        let agreed = like_memory(store.open().await.unwrap(), operations).await;
        database.remove().await.unwrap();
        agreed
    });
}

async fn like_memory(store: impl Store, operations: &[Operation]) -> Result<Answers, String> {
    let memory = MemoryStore::with_keys(store.keys().clone());
    let agreed = agree(&memory, &store, operations).await;
    store.close().await;
    agreed
}

fn answers_like_memory(cases: u32, ask: &impl AsyncFn(&[Operation]) -> Result<Answers, String>) {
    let runtime = runtime();
    let answers = RefCell::new(Answers::default());
    runner(cases)
        .run(&operations(), |operations| {
            let agreed = runtime.block_on(ask(&operations));
            answers.borrow_mut().add(agreed.map_err(TestCaseError::fail)?);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    let Answers { taken, refused, illegal, impossible } = answers.into_inner();
    let met = [taken, refused, illegal, impossible];
    assert!(met.iter().all(|count| *count >= 20), "hardly met: {met:?}");
}

#[test]
fn a_store_that_keeps_undone_parts_is_found() {
    let runtime = runtime();
    let found = runner(CASES).run(&operations(), |operations| {
        let one = MemoryStore::new();
        let other = MemoryStore::with_keys(one.keys().clone());
        let other = SteppedStore::new(other, Forgetful);
        let agreed = runtime.block_on(agree(&one, &other, &operations));
        agreed.map(drop).map_err(TestCaseError::fail)
    });
    assert!(found.is_err(), "the comparison missed it");
}

/// A mistake: it keeps a part that should be undone.
#[derive(Debug)]
struct Forgetful;

impl Steps for Forgetful {
    fn undo<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        of.keep()
    }
}
