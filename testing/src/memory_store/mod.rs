//! A store in memory with the semantics of a database: savepoints, undo, commit, readers that see only what is committed.

mod connection;
mod forget;
mod layer;
mod transaction;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use tokio::sync::{Mutex as Turnstile, OwnedRwLockWriteGuard, RwLock as Gate, oneshot};

pub use connection::{MemoryConnection, ReadOnly};
use layer::Layer;
use transaction::MemoryTransaction;

use madang_actors::{
    ledger::{ChainEnd, ErasedChain, Link, SealKeys},
    port::{
        BoxFuture, ConnectionType, Forget, ForgetError, Forgotten, InterruptedSession,
        LedgerFilter, LedgerRow, Occupancy, Reader, Store, StoreError, StoredSession,
        SubmittedTurn, Transaction, TranscriptPart,
    },
    protocol::{IdempotencyKey, SessionId, UserId},
};

/// A store in memory. One transaction is open at a time; clones share everything.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore(Arc<Shared>);

/// What all clones and connections share.
#[derive(Debug)]
struct Shared {
    /// Random and secret: what is in memory needs no key for longer.
    keys: SealKeys,
    committed: RwLock<Layer>,
    /// Held by the open transaction.
    writer: Arc<Turnstile<()>>,
    /// Commits pass it; a pause closes it.
    gate: Arc<Gate<()>>,
    faults: Mutex<Faults>,
    commits: AtomicU64,
    readings: AtomicU64,
    occupancy: Occupancy,
    /// The answers about keys that come late, in the order in which they are asked for.
    late: Mutex<VecDeque<oneshot::Receiver<()>>>,
    /// What stays of the chains of forgotten users.
    erased: Mutex<Vec<ErasedChain>>,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            keys: SealKeys::for_this_process().expect("the system has random numbers"),
            committed: RwLock::default(),
            writer: Arc::default(),
            gate: Arc::default(),
            faults: Mutex::default(),
            commits: AtomicU64::default(),
            readings: AtomicU64::default(),
            late: Mutex::default(),
            erased: Mutex::default(),
            occupancy: Occupancy::default(),
        }
    }
}

/// What fails next.
#[derive(Debug, Default)]
struct Faults {
    begin: Option<StoreError>,
    commit: Option<(StoreError, Committed)>,
    read: Option<StoreError>,
    links: Option<StoreError>,
}

/// What a failing commit does all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Committed {
    Yes,
    No,
}

/// While it lives, commits wait.
#[derive(Debug)]
#[must_use = "dropped, it lets commits pass again"]
pub struct Paused {
    _gate: OwnedRwLockWriteGuard<()>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store with these keys, as another store has them.
    #[must_use]
    pub fn with_keys(keys: SealKeys) -> Self {
        Self(Arc::new(Shared { keys, ..Shared::default() }))
    }

    /// Lets commits wait until the answer is dropped: what is being written hangs there, and reads go on.
    pub async fn pause(&self) -> Paused {
        Paused { _gate: self.0.gate.clone().write_owned().await }
    }

    /// Lets an answer about the turn of a key come late, as it was when the store was asked: once what is given back is
    /// dropped. Said again, it is about the next answer.
    pub fn answer_about_a_key_late(&self) -> oneshot::Sender<()> {
        let (go, goes) = oneshot::channel();
        self.0.late.lock().unwrap_or_else(PoisonError::into_inner).push_back(goes);
        go
    }

    /// Lets the next transaction fail to begin.
    pub fn fail_next_begin(&self) {
        self.0.faults().begin = Some(StoreError::unavailable(OnPurpose));
    }

    /// Lets the next reading of a part of a transcript fail.
    pub fn fail_next_read(&self) {
        self.0.faults().read = Some(StoreError::unavailable(OnPurpose));
    }

    /// Lets the next reading of a session's chain fail.
    pub fn fail_next_links(&self) {
        self.0.faults().links = Some(StoreError::unavailable(OnPurpose));
    }

    /// Lets the next commit fail, with nothing written.
    pub fn fail_next_commit(&self) {
        self.0.faults().commit = Some((StoreError::unavailable(OnPurpose), Committed::No));
    }

    /// Lets the next commit fail, with nothing written, so that its outcome stays unknown.
    pub fn lose_next_commit(&self) {
        self.0.faults().commit = Some((StoreError::unknown(OnPurpose), Committed::No));
    }

    /// Lets the next commit happen and its answer be lost.
    pub fn lose_next_commit_reply(&self) {
        self.0.faults().commit = Some((StoreError::unknown(OnPurpose), Committed::Yes));
    }

    /// How many commits there were: what a turn costs in durable waits.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.0.commits.load(Relaxed)
    }

    /// How often its ledger was looked up.
    #[must_use]
    pub fn readings(&self) -> u64 {
        self.0.readings.load(Relaxed)
    }

    /// A connection that sees what is committed and cannot write.
    #[must_use]
    pub fn connection(&self) -> MemoryConnection {
        MemoryConnection::reading(self.0.clone())
    }
}

/// A fault that a test asked for.
#[derive(Debug, thiserror::Error)]
#[error("the test wanted it to fail")]
struct OnPurpose;

impl Shared {
    fn faults(&self) -> std::sync::MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, read: impl FnOnce(&Layer) -> T) -> T {
        read(&self.committed.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn commit(&self, layer: Layer) {
        self.commits.fetch_add(1, Relaxed);
        self.committed.write().unwrap_or_else(PoisonError::into_inner).absorb(layer);
    }
}

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
        Box::pin(async { Ok(self.0.read(|committed| committed.stored_session(session))) })
    }

    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>> {
        Box::pin(async move {
            if let Some(fault) = self.0.faults().read.take() {
                return Err(fault);
            }
            Ok(self.0.read(|committed| committed.transcript(session, from, max)))
        })
    }

    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>> {
        Box::pin(async { Ok(self.0.read(Layer::interrupted)) })
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

    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>> {
        Box::pin(async {
            self.0.readings.fetch_add(1, Relaxed);
            Ok(self.0.read(|committed| committed.matching_calls(filter)))
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
