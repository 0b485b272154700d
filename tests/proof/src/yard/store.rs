//! A store that lets the process die between any two of its steps.

use std::any::Any;

use madang::{
    IdempotencyKey, LedgerFilter, LedgerRow, SessionId, Store, StoreError, UserId, tool::BoxFuture,
};
use madang_actors::{
    ledger::{ChainEnd, Link},
    port::{
        ConnectionType, InterruptedSession, Reader, StoredSession, SubmittedTurn, Transaction,
        TranscriptPart, Write,
    },
};

use super::point::{Point, Points};

/// Another store, with points to die at.
#[derive(Debug)]
pub(super) struct MortalStore<S> {
    store: S,
    points: Points,
}

struct MortalTransaction {
    transaction: Box<dyn Transaction>,
    points: Points,
}

impl<S> MortalStore<S> {
    pub(super) const fn new(store: S, points: Points) -> Self {
        Self { store, points }
    }
}

impl<S: Store> Store for MortalStore<S> {
    fn connection_type(&self) -> ConnectionType {
        self.store.connection_type()
    }

    fn writers(&self) -> usize {
        self.store.writers()
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn Transaction>, StoreError>> {
        Box::pin(async {
            self.points.pass(Point::StoreBegin);
            let transaction = self.store.begin().await?;
            let mortal = MortalTransaction { transaction, points: self.points.clone() };
            Ok(Box::new(mortal) as Box<dyn Transaction>)
        })
    }

    fn reader(&self) -> BoxFuture<'_, Result<Box<dyn Reader>, StoreError>> {
        self.store.reader()
    }

    fn owner<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<UserId>, StoreError>> {
        self.store.owner(session)
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, StoreError>> {
        self.store.session(session)
    }

    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>> {
        self.store.transcript(session, from, max)
    }

    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>> {
        self.store.interrupted()
    }

    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>> {
        self.store.submitted(session, key)
    }

    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>> {
        self.store.calls(filter)
    }

    fn links<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<(Vec<Link>, ChainEnd), StoreError>> {
        self.store.links(session)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.store.close()
    }
}

impl Transaction for MortalTransaction {
    fn savepoint(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.points.pass(Point::StoreSavepoint);
        self.transaction.savepoint()
    }

    fn keep(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.points.pass(Point::StoreKeep);
        self.transaction.keep()
    }

    fn undo(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.points.pass(Point::StoreUndo);
        self.transaction.undo()
    }

    fn write<'a>(&'a mut self, write: &'a Write) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write_all(std::slice::from_ref(write))
    }

    fn write_all<'a>(&'a mut self, writes: &'a [Write]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async {
            self.points.pass(Point::StoreWrite);
            let written = self.transaction.write_all(writes).await;
            self.points.pass(Point::StoreWritten);
            written
        })
    }

    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.transaction.connection()
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        let Self { transaction, points } = *self;
        Box::pin(async move {
            points.pass(Point::StoreCommit);
            let committed = transaction.commit().await;
            points.pass(Point::StoreCommitted);
            committed
        })
    }
}
