//! Implements the store port on SQLite, with one writing connection and a few that read.

use std::sync::{Arc, Mutex as Cell, PoisonError};

use madang_actors::{
    failpoint::failpoint,
    ledger::{ChainEnd, ErasedChain, Link, SealKeys},
    port::{
        BoxFuture, ConnectionType, Forget, ForgetError, Forgotten, InterruptedSession,
        LedgerFilter, LedgerRow, Occupancy, PartSize, Reader, SearchPage, SearchQuery, SessionPage,
        SessionSummary, Store, StoreError, StoredSession, StoredTurn, SubmittedTurn, TemporaryChat,
        Transaction, TranscriptPart,
    },
    protocol::{IdempotencyKey, SessionId, TurnId, UserId},
};
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::{Mutex, watch};

use super::{
    WriteFault, calls, erase, error, forget,
    lock::Lock,
    read,
    readers::{Lent, LentTo, Readers},
    search, session_list,
    temporary::TemporaryFolder,
    transaction::SqliteTransaction,
    writer::Writer,
};

/// Keeps chats and ledger in a SQLite file, together with the tables of toolkits and the
/// application. It is cheap to clone.
///
/// Each commit is on the disk before any caller learns of it (`synchronous=FULL`, write-ahead log).
/// One process at a time writes a database; lock files in its folder are held as long as the store
/// lives.
#[derive(Debug, Clone)]
pub struct SqliteStore(pub(super) Arc<Shared>);

/// The state that all clones share.
#[derive(Debug)]
pub(super) struct Shared {
    writing: Option<Writing>,
    keys: SealKeys,
    /// The store's own reading connections, which never wait for a tool.
    own: Readers,
    tools: Readers,
    /// The connection for searches, which wait for each other and for nobody else: they read much.
    searching: Readers,
    occupancy: Occupancy,
}

/// The state of a store that may write.
#[derive(Debug)]
struct Writing {
    options: SqliteConnectOptions,
    /// Empty after a failed transaction, whose connection is closed.
    slot: Arc<Mutex<Option<Writer>>>,
    /// Empty once the store is closed.
    claim: Cell<Option<Claim>>,
    /// The number of committed transactions.
    commits: watch::Sender<u64>,
}

/// The right to write, and the folder of a temporary database. The lock is released first.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) lock: Lock,
    pub(super) _folder: Option<TemporaryFolder>,
}

/// Connections for the store's own reads: a waking session waits for at most one other.
const OWN_READERS: usize = 2;

impl SqliteStore {
    /// Returns the number of commits of this store, by any caller, as a value to watch. A screen
    /// that shows a toolkit's tables waits for the next number, and then reads them. Closing the
    /// store marks the number as changed. If the store was opened to read, the number never
    /// changes.
    #[must_use]
    pub fn commits(&self) -> watch::Receiver<u64> {
        match &self.0.writing {
            Some(writing) => writing.commits.subscribe(),
            None => watch::Sender::new(0).subscribe(),
        }
    }

    /// Runs a statement of the store's own on the writing connection, between transactions.
    #[cfg(test)]
    pub(super) async fn say_as_store(&self, sql: String) -> Vec<sqlx::sqlite::SqliteRow> {
        let writing = self.0.writing.as_ref().expect("the store was opened to write");
        let mut slot = writing.slot.lock().await;
        let own = slot.as_mut().expect("a connection that is not spoiled").own();
        sqlx::query(own.sql(&sql)).fetch_all(own.db).await.expect("the store may say it")
    }
}

impl Shared {
    pub(super) fn writing(
        options: SqliteConnectOptions,
        writer: Writer,
        claim: Claim,
        reading: SqliteConnectOptions,
        readers: usize,
        keys: SealKeys,
    ) -> Self {
        let slot = Arc::new(Mutex::new(Some(writer)));
        let claim = Cell::new(Some(claim));
        let commits = watch::Sender::new(0);
        let writing = Writing { options, slot, claim, commits };
        Self { writing: Some(writing), ..Self::read_only(reading, readers, keys) }
    }

    pub(super) fn read_only(options: SqliteConnectOptions, readers: usize, keys: SealKeys) -> Self {
        Self {
            writing: None,
            occupancy: Occupancy::default(),
            keys,
            own: Readers::new(options.clone(), OWN_READERS, LentTo::Store),
            searching: Readers::new(options.clone(), 1, LentTo::Store),
            tools: Readers::new(options, readers, LentTo::Tools),
        }
    }

    /// Fails if the store was opened to read.
    fn to_write(&self) -> Result<&Writing, StoreError> {
        let read_only = || StoreError::unavailable("the database was opened to read only");
        self.writing.as_ref().ok_or_else(read_only)
    }

    pub(super) async fn own_reader(&self) -> Result<Lent, StoreError> {
        failpoint("sqlite.own_reader").await?;
        self.own.lend().await.map_err(StoreError::unavailable)
    }
}

impl Writing {
    async fn begin(&self, keys: &SealKeys) -> Result<SqliteTransaction, StoreError> {
        let mut slot = self.slot.clone().lock_owned().await;
        match &*self.claim.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(claim) => claim.lock.file().must_be_there().map_err(WriteFault::moved)?,
            None => return Err(StoreError::unavailable("the store is closed")),
        }
        if slot.is_none() {
            failpoint("sqlite.connect").await?;
            *slot = Some(self.connect(keys).await.map_err(error::unavailable)?);
        }
        SqliteTransaction::begin(slot, self.commits.clone()).await
    }

    /// Rewrites the files, so that nothing of the erased rows is left in them.
    async fn rewrite(&self) -> Result<(), ForgetError> {
        let mut slot = self.slot.lock().await;
        if let Some(writer) = slot.take() {
            writer.into_db().close().await.map_err(forget::not_rewritten)?;
        }
        // The slot stays locked, so no writer can begin until then.
        forget::rewrite(&self.options).await
    }

    async fn connect(&self, keys: &SealKeys) -> sqlx::Result<Writer> {
        Writer::new(self.options.connect().await?, keys.clone()).await
    }

    async fn close(&self) {
        let writer = self.slot.lock().await.take();
        if let Some(writer) = writer
            && let Err(error) = writer.into_db().close().await
        {
            tracing::warn!(%error, "the writing connection did not close");
        }
        drop(self.claim.lock().unwrap_or_else(PoisonError::into_inner).take());
        // Wakes a task that waits for a commit, which then learns that the store is closed.
        self.commits.send_modify(|_| ());
    }
}

impl Store for SqliteStore {
    fn occupancy(&self) -> Option<&Occupancy> {
        Some(&self.0.occupancy)
    }

    fn connection_type(&self) -> ConnectionType {
        ConnectionType::of::<SqliteConnection>()
    }

    fn keys(&self) -> &SealKeys {
        &self.0.keys
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn Transaction>, StoreError>> {
        Box::pin(async {
            let writing = self.0.to_write()?;
            Ok(Box::new(writing.begin(&self.0.keys).await?) as Box<dyn Transaction>)
        })
    }

    fn reader(&self) -> BoxFuture<'_, Result<Box<dyn Reader>, StoreError>> {
        Box::pin(async {
            failpoint("sqlite.reader").await?;
            let lent = self.0.tools.lend().await.map_err(StoreError::unavailable)?;
            Ok(Box::new(lent) as Box<dyn Reader>)
        })
    }

    fn owner<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<UserId>, StoreError>> {
        Box::pin(async {
            read::owner(&mut self.0.own_reader().await?.own(&self.0.keys), session).await
        })
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, StoreError>> {
        Box::pin(async {
            read::session(&mut self.0.own_reader().await?.own(&self.0.keys), session).await
        })
    }

    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        size: PartSize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>> {
        Box::pin(async move {
            read::transcript(self.0.own_reader().await?.db(), session, from, size).await
        })
    }

    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>> {
        Box::pin(async { read::interrupted(self.0.own_reader().await?.db()).await })
    }

    fn temporary(&self, most: usize) -> BoxFuture<'_, Result<Vec<TemporaryChat>, StoreError>> {
        Box::pin(async move { erase::temporary(self.0.own_reader().await?.db(), most).await })
    }

    fn sessions<'a>(
        &'a self,
        user: &'a UserId,
        page: &'a SessionPage,
    ) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        Box::pin(async {
            session_list::read(&mut self.0.own_reader().await?.own(&self.0.keys), user, page).await
        })
    }

    fn summary<'a>(
        &'a self,
        user: &'a UserId,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionSummary>, StoreError>> {
        Box::pin(async {
            let mut reader = self.0.own_reader().await?;
            session_list::one(&mut reader.own(&self.0.keys), user, session).await
        })
    }

    fn search<'a>(
        &'a self,
        user: &'a UserId,
        query: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchPage, StoreError>> {
        Box::pin(async {
            let mut reader = self.0.searching.lend().await.map_err(StoreError::unavailable)?;
            search::search(&mut reader.own(&self.0.keys), user, query).await
        })
    }

    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>> {
        Box::pin(async { read::submitted(self.0.own_reader().await?.db(), session, key).await })
    }

    fn turn<'a>(
        &'a self,
        session: &'a SessionId,
        turn: TurnId,
    ) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move { read::turn(self.0.own_reader().await?.db(), session, turn).await })
    }

    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>> {
        Box::pin(async {
            calls::read(&mut self.0.own_reader().await?.own(&self.0.keys), filter).await
        })
    }

    fn links<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<(Vec<Link>, ChainEnd), StoreError>> {
        Box::pin(async { read::links(self.0.own_reader().await?.db(), session).await })
    }

    fn forget<'a>(&'a self, order: &'a Forget) -> BoxFuture<'a, Result<Forgotten, ForgetError>> {
        Box::pin(async {
            let writing = self.0.to_write()?;
            let _occupied = self.0.occupancy.occupy().ok_or(ForgetError::InUse)?;
            let mut transaction = writing.begin(&self.0.keys).await?;
            let forgotten = forget::erase(transaction.own(), order).await?;
            Box::new(transaction).commit().await?;
            writing.rewrite().await?;
            Ok(forgotten)
        })
    }

    fn erased(&self) -> BoxFuture<'_, Result<Vec<ErasedChain>, StoreError>> {
        Box::pin(async { forget::erased(self.0.own_reader().await?.db()).await })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // Closes the writer last: the last connection moves the log into the database.
            self.0.own.close().await;
            self.0.searching.close().await;
            self.0.tools.close().await;
            if let Some(writing) = &self.0.writing {
                writing.close().await;
            }
        })
    }
}
