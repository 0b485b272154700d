//! An application writes a store of its own with the paths of `madang` alone.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use madang::{
    IdempotencyKey, Runtime, SessionId, TurnId, UserId,
    store::port::{
        BoxFuture, ChainEnd, ConnectionType, ErasedChain, Forget, ForgetError, Forgotten,
        InterruptedSession, LedgerFilter, LedgerRow, Link, Occupancy, Reader, SealKeys,
        SessionPage, SessionSummary, Store, StoreError, StoredSession, StoredTurn, SubmittedTurn,
        Transaction, TranscriptPart, Write,
    },
};
use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};

/// A store that counts the commits of another one.
#[derive(Debug)]
struct CountingStore {
    inner: MemoryStore,
    commits: Arc<AtomicUsize>,
}

struct Counted {
    inner: Box<dyn Transaction>,
    commits: Arc<AtomicUsize>,
}

impl Store for CountingStore {
    fn connection_type(&self) -> ConnectionType {
        self.inner.connection_type()
    }

    fn keys(&self) -> &SealKeys {
        self.inner.keys()
    }

    fn occupancy(&self) -> Option<&Occupancy> {
        self.inner.occupancy()
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn Transaction>, StoreError>> {
        Box::pin(async {
            let commits = self.commits.clone();
            Ok(Box::new(Counted { inner: self.inner.begin().await?, commits })
                as Box<dyn Transaction>)
        })
    }

    fn reader(&self) -> BoxFuture<'_, Result<Box<dyn Reader>, StoreError>> {
        self.inner.reader()
    }

    fn owner<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<UserId>, StoreError>> {
        self.inner.owner(session)
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, StoreError>> {
        self.inner.session(session)
    }

    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>> {
        self.inner.transcript(session, from, max)
    }

    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>> {
        self.inner.interrupted()
    }

    fn sessions<'a>(
        &'a self,
        user: &'a UserId,
        page: &'a SessionPage,
    ) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        self.inner.sessions(user, page)
    }

    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>> {
        self.inner.submitted(session, key)
    }

    fn turn<'a>(
        &'a self,
        session: &'a SessionId,
        turn: TurnId,
    ) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        self.inner.turn(session, turn)
    }

    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>> {
        self.inner.calls(filter)
    }

    fn links<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<(Vec<Link>, ChainEnd), StoreError>> {
        self.inner.links(session)
    }

    fn forget<'a>(&'a self, order: &'a Forget) -> BoxFuture<'a, Result<Forgotten, ForgetError>> {
        self.inner.forget(order)
    }

    fn erased(&self) -> BoxFuture<'_, Result<Vec<ErasedChain>, StoreError>> {
        self.inner.erased()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

impl Transaction for Counted {
    fn savepoint(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.savepoint()
    }

    fn keep(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.keep()
    }

    fn undo(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.undo()
    }

    fn write<'a>(&'a mut self, writes: &'a [Write]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.write(writes)
    }

    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.inner.connection()
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            self.inner.commit().await?;
            self.commits.fetch_add(1, Relaxed);
            Ok(())
        })
    }
}

#[tokio::test]
async fn a_turn_runs_on_a_store_that_wraps_another() {
    let commits = Arc::new(AtomicUsize::new(0));
    let store = CountingStore { inner: MemoryStore::new(), commits: commits.clone() };
    let model = ScriptedModel::new([ScriptedCompletion::text("Hello.")]);
    let runtime = Runtime::builder().model(model).store(store).start().await.unwrap();
    let session = runtime.session("kim", "s").await.unwrap();
    let text = session.send("hi").await.unwrap().text().await.unwrap();
    assert_eq!(text, "Hello.");
    runtime.shutdown().await.unwrap();
    assert!(commits.load(Relaxed) > 0);
}
