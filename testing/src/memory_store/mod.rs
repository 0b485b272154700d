//! Keeps chats and ledger in memory, like a database, and fails on demand.
//!
//! The committed state is a `layer`. A `transaction` puts one layer on it for each savepoint.
//! Keeping a savepoint merges its layer into the one below, and undoing it drops the layer. The
//! commit merges all layers. Readers see only the committed state. `session_list` lists chats,
//! `search` searches them, `connection` is the part that fake tools use, `delete` deletes a session,
//! and `forget` erases a user.
//!
//! Invariants:
//! - One transaction is open at a time.
//! - A dropped transaction leaves nothing.
//! - A refused write changes nothing.
//!
//! The store contract checks them, and a proof compares each answer with that of SQLite.
//!
//! ```
//! # use madang_testing::MemoryStore;
//! let store = MemoryStore::new();
//! store.fail_next_commit();
//! assert_eq!(store.commits(), 0);
//! ```

mod connection;
mod delete;
mod erase;
mod forget;
mod layer;
mod search;
mod session_list;
mod shared;
mod transaction;
mod turns;

use std::sync::{Arc, PoisonError, atomic::Ordering::Relaxed};

use tokio::sync::{OwnedRwLockWriteGuard, oneshot};

pub use connection::{MemoryConnection, ReadOnly};
use layer::Layer;
use shared::{Committed, Shared};
use transaction::MemoryTransaction;

use madang_actors::{
    ledger::{ChainEnd, ErasedChain, Link, SealKeys},
    port::{
        BoxFuture, ConnectionType, Forget, ForgetError, Forgotten, InterruptedSession,
        LedgerFilter, LedgerRow, Occupancy, PartSize, Reader, SearchPage, SearchQuery, SessionPage,
        SessionSummary, Store, StoreError, StoredSession, StoredTurn, SubmittedTurn, TemporaryChat,
        Transaction, TranscriptPart,
    },
    protocol::{IdempotencyKey, SessionId, TurnId, UserId},
};

/// A store in memory. One transaction is open at a time. Clones share everything.
#[derive(Debug, Clone)]
pub struct MemoryStore(Arc<Shared>);

/// Holds commits back until it is dropped.
#[derive(Debug)]
#[must_use = "dropped, it lets commits pass again"]
pub struct Paused {
    _gate: OwnedRwLockWriteGuard<()>,
}

impl MemoryStore {
    /// Creates an empty store. Its keys are random and secret, because nothing in memory outlives
    /// them.
    #[must_use]
    pub fn new() -> Self {
        Self::with_keys(SealKeys::for_this_process().expect("the system has random numbers"))
    }

    /// Creates an empty store with the keys of another store.
    #[must_use]
    pub fn with_keys(keys: SealKeys) -> Self {
        Self(Arc::new(Shared { keys, ..Shared::default() }))
    }

    /// Holds commits back until the returned value is dropped. Meanwhile writes hang, and reads go
    /// on.
    pub async fn pause(&self) -> Paused {
        Paused { _gate: self.0.gate.clone().write_owned().await }
    }

    /// Delays the next answer about the turn of a key until the returned sender is dropped. The
    /// answer shows the store at the moment of the question. A second call delays the answer after
    /// that.
    pub fn answer_about_a_key_late(&self) -> oneshot::Sender<()> {
        let (go, goes) = oneshot::channel();
        self.0.late.lock().unwrap_or_else(PoisonError::into_inner).push_back(goes);
        go
    }

    /// Makes the next transaction fail to begin.
    pub fn fail_next_begin(&self) {
        self.0.faults().begin = Some(StoreError::unavailable(OnPurpose));
    }

    /// Makes the next read of a whole session fail. A second call makes the read after that fail.
    pub fn fail_next_load(&self) {
        self.0.faults().loads += 1;
    }

    /// Makes the next read of a part of a transcript fail.
    pub fn fail_next_read(&self) {
        self.0.faults().read = Some(StoreError::unavailable(OnPurpose));
    }

    /// Makes the next read of a session's chain fail.
    pub fn fail_next_links(&self) {
        self.0.faults().links = Some(StoreError::unavailable(OnPurpose));
    }

    /// Makes the next commit fail, with nothing written. A further call of this or of the next two
    /// methods is about the commit after that.
    pub fn fail_next_commit(&self) {
        self.0.faults().commits.push_back((StoreError::unavailable(OnPurpose), Committed::No));
    }

    /// Makes the next commit fail with an unknown result, with nothing written.
    pub fn lose_next_commit(&self) {
        self.0.faults().commits.push_back((StoreError::unknown(OnPurpose), Committed::No));
    }

    /// Makes the next commit succeed but lose its answer.
    pub fn lose_next_commit_reply(&self) {
        self.0.faults().commits.push_back((StoreError::unknown(OnPurpose), Committed::Yes));
    }

    /// Returns how many commits were made. Each is a durable wait of a turn.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.0.commits.load(Relaxed)
    }

    /// Returns how often its ledger was read.
    #[must_use]
    pub fn readings(&self) -> u64 {
        self.0.readings.load(Relaxed)
    }

    /// Returns a connection that sees the committed state and cannot write.
    #[must_use]
    pub fn connection(&self) -> MemoryConnection {
        MemoryConnection::reading(self.0.clone())
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

/// A fault that a test ordered.
#[derive(Debug, thiserror::Error)]
#[error("the test wanted it to fail")]
struct OnPurpose;

impl Store for MemoryStore {
    fn occupancy(&self) -> Option<&Occupancy> {
        Some(&self.0.occupancy)
    }

    fn connection_type(&self) -> ConnectionType {
        ConnectionType::of::<MemoryConnection>()
    }

    fn keys(&self) -> &SealKeys {
        &self.0.keys
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn Transaction>, StoreError>> {
        Box::pin(async {
            let turn = self.0.writer.clone().lock_owned().await;
            if let Some(fault) = self.0.faults().begin.take() {
                return Err(fault);
            }
            Ok(Box::new(MemoryTransaction::new(self.0.clone(), turn)) as Box<dyn Transaction>)
        })
    }

    fn reader(&self) -> BoxFuture<'_, Result<Box<dyn Reader>, StoreError>> {
        Box::pin(async { Ok(Box::new(self.connection()) as Box<dyn Reader>) })
    }

    fn owner<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<UserId>, StoreError>> {
        Box::pin(async { Ok(self.0.read(|committed| committed.owner(session))) })
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, StoreError>> {
        Box::pin(async {
            let left = self.0.faults().loads.checked_sub(1);
            if let Some(left) = left {
                self.0.faults().loads = left;
                return Err(StoreError::unavailable(OnPurpose));
            }
            Ok(self.0.read(|committed| committed.stored_session(session)))
        })
    }

    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        size: PartSize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>> {
        Box::pin(async move {
            if let Some(fault) = self.0.faults().read.take() {
                return Err(fault);
            }
            Ok(self.0.read(|committed| committed.transcript(session, from, size)))
        })
    }

    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>> {
        Box::pin(async { Ok(self.0.read(Layer::interrupted)) })
    }

    fn temporary(&self, most: usize) -> BoxFuture<'_, Result<Vec<TemporaryChat>, StoreError>> {
        Box::pin(async move { Ok(self.0.read(|layer| layer.temporary(most))) })
    }

    fn sessions<'a>(
        &'a self,
        user: &'a UserId,
        page: &'a SessionPage,
    ) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        Box::pin(async { Ok(self.0.read(|committed| committed.session_list(user, page))) })
    }

    fn summary<'a>(
        &'a self,
        user: &'a UserId,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionSummary>, StoreError>> {
        Box::pin(async { Ok(self.0.read(|committed| committed.listed(user, session))) })
    }

    fn search<'a>(
        &'a self,
        user: &'a UserId,
        query: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchPage, StoreError>> {
        Box::pin(async { Ok(self.0.read(|committed| committed.search(user, query))) })
    }

    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>> {
        Box::pin(async {
            let found = self.0.read(|committed| committed.submitted(session, key));
            let late = self.0.late.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            if let Some(late) = late {
                late.await.ok();
            }
            Ok(found)
        })
    }

    fn turn<'a>(
        &'a self,
        session: &'a SessionId,
        turn: TurnId,
    ) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move { Ok(self.0.read(|committed| committed.turn(session, turn))) })
    }

    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>> {
        Box::pin(async {
            self.0.readings.fetch_add(1, Relaxed);
            self.0.read(|committed| committed.matching_calls(filter))
        })
    }

    fn links<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<(Vec<Link>, ChainEnd), StoreError>> {
        Box::pin(async {
            if let Some(fault) = self.0.faults().links.take() {
                return Err(fault);
            }
            Ok(self.0.read(|committed| committed.links(session)))
        })
    }

    fn forget<'a>(&'a self, order: &'a Forget) -> BoxFuture<'a, Result<Forgotten, ForgetError>> {
        Box::pin(async {
            let _occupied = self.0.occupancy.occupy().ok_or(ForgetError::InUse)?;
            let _turn = self.0.writer.clone().lock_owned().await;
            let mut committed = self.0.committed.write().unwrap_or_else(PoisonError::into_inner);
            let (forgotten, chains) = committed.forget(order);
            let chains = chains.into_iter().map(|chain| chain.sealed(&self.0.keys));
            self.0.erased.lock().unwrap_or_else(PoisonError::into_inner).extend(chains);
            Ok(forgotten)
        })
    }

    fn erased(&self) -> BoxFuture<'_, Result<Vec<ErasedChain>, StoreError>> {
        Box::pin(async {
            let mut erased = self.0.erased.lock().unwrap_or_else(PoisonError::into_inner).clone();
            erased.sort_by_key(|chain| chain.id);
            Ok(erased)
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
