//! Model against store: whatever is done to the memory store and to SQLite, both answer the same, errors included.
//!
//! `facts` says what can be done: a new fact or question of the port is a line there or in `compare`.

mod compare;
mod facts;

use std::{any::Any, cell::RefCell};

use madang::{
    IdempotencyKey, LedgerFilter, LedgerRow, SessionId, Store, StoreError, UserId,
    store::SqliteStore, testing::MemoryStore, tool::BoxFuture,
};
use madang_actors::{
    ledger::{ChainEnd, Link},
    port::{
        ConnectionType, InterruptedSession, Reader, StoredSession, SubmittedTurn, Transaction,
        TranscriptPart, Write,
    },
};
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
                let agreed = agree(&MemoryStore::new(), &sqlite, &operations).await;
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
        let (one, other) = (MemoryStore::new(), Forgetful(MemoryStore::new()));
        let agreed = runtime.block_on(agree(&one, &other, &operations));
        agreed.map(drop).map_err(TestCaseError::fail)
    });
    assert!(found.is_err(), "nobody noticed");
}

/// A store with a mistake: it keeps what it should undo.
#[derive(Debug)]
struct Forgetful(MemoryStore);

struct ForgetfulTransaction(Box<dyn Transaction>);

impl Store for Forgetful {
    fn connection_type(&self) -> ConnectionType {
        self.0.connection_type()
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn Transaction>, StoreError>> {
        Box::pin(async {
            let transaction = self.0.begin().await?;
            Ok(Box::new(ForgetfulTransaction(transaction)) as Box<dyn Transaction>)
        })
    }

    fn reader(&self) -> BoxFuture<'_, Result<Box<dyn Reader>, StoreError>> {
        self.0.reader()
    }

    fn owner<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<UserId>, StoreError>> {
        self.0.owner(session)
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, StoreError>> {
        self.0.session(session)
    }

    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>> {
        self.0.transcript(session, from, max)
    }

    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>> {
        self.0.interrupted()
    }

    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>> {
        self.0.submitted(session, key)
    }

    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>> {
        self.0.calls(filter)
    }

    fn links<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<(Vec<Link>, ChainEnd), StoreError>> {
        self.0.links(session)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.close()
    }
}

impl Transaction for ForgetfulTransaction {
    fn savepoint(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.savepoint()
    }

    fn keep(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.keep()
    }

    fn undo(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.keep()
    }

    fn write<'a>(&'a mut self, write: &'a Write) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.write(write)
    }

    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.0.connection()
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        self.0.commit()
    }
}
