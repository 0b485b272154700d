//! Implements the store port on PostgreSQL.

use std::sync::Arc;

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
use sqlx::{PgConnection, postgres::PgConnectOptions};

use super::{
    calls,
    claim::Claim,
    doubt::Doubt,
    erase, forget,
    own::say,
    pool::{Connection, Lent, LentTo, Pool, ToolReader},
    read, search, session_list,
    transaction::PostgresTransaction,
};

/// Keeps chats and ledger in a PostgreSQL database, together with the tables of toolkits and the
/// application. It is cheap to clone.
///
/// Each commit is on the server's disk before any caller learns of it. One process at a time writes a
/// database: a second one is refused, and one that was cut off from its database writes nothing after
/// another has opened it.
#[derive(Debug, Clone)]
pub struct PostgresStore(pub(super) Arc<Shared>);

/// The state that all clones share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) claim: Claim,
    pub(super) keys: SealKeys,
    pub(super) doubt: Doubt,
    writing: Arc<Pool>,
    /// The store's own reading connections, which never wait for a tool.
    own: Arc<Pool>,
    tools: Arc<Pool>,
    /// The connection for searches, which wait for each other and for nobody else: they read much.
    searching: Arc<Pool>,
    occupancy: Occupancy,
}

/// Transactions that are open at once. The queue before the writers keeps the order of the writes only
/// for one writer.
const WRITERS: usize = 1;

/// Connections for the store's own reads: a waking session waits for at most one other.
const OWN_READERS: usize = 2;

impl Shared {
    pub(super) fn new(
        options: &PgConnectOptions,
        claim: Claim,
        keys: SealKeys,
        readers: usize,
        durability: &str,
    ) -> Self {
        let pool = |count, lent_to| Pool::new(options.clone(), count, lent_to, durability);
        Self {
            claim,
            keys,
            doubt: Doubt::default(),
            writing: pool(WRITERS, LentTo::Writers),
            own: pool(OWN_READERS, LentTo::Store),
            tools: pool(readers, LentTo::Tools),
            searching: pool(1, LentTo::Store),
            occupancy: Occupancy::default(),
        }
    }

    pub(super) async fn own_reader(&self) -> Result<Lent, StoreError> {
        self.reader_of(&self.own).await
    }

    async fn reader_of(&self, pool: &Arc<Pool>) -> Result<Lent, StoreError> {
        self.settle_doubts().await?;
        pool.lend().await.map_err(StoreError::unavailable)
    }

    /// Waits for commits whose result is not known, before the ledger is read.
    async fn settle_doubts(&self) -> Result<(), StoreError> {
        if !self.doubt.is_there() {
            return Ok(());
        }
        let connect = async || self.connect_to_write().await;
        self.doubt.pass(connect, &self.keys, self.claim.node).await
    }

    /// Opens a connection beside the pool, once this process is known to have the database.
    async fn connect_to_write(&self) -> Result<Connection, StoreError> {
        self.claim.confirm().await?;
        self.writing.connect().await.map_err(StoreError::unavailable)
    }

    async fn begin(self: &Arc<Self>) -> Result<PostgresTransaction, StoreError> {
        self.settle_doubts().await?;
        let lent = self.writing.lend().await.map_err(StoreError::unavailable)?;
        if !lent.was_idle {
            self.claim.confirm().await?;
        }
        PostgresTransaction::begin(lent, self.clone()).await
    }

    /// Clears the rows that were erased out of the tables.
    async fn vacuum(&self) -> Result<(), StoreError> {
        let mut connection = self.connect_to_write().await?;
        let settings = "SET statement_timeout = 0; SET default_transaction_read_only = off";
        let vacuum = async {
            say(&mut connection.db, settings.to_owned()).await?;
            // On a large database this takes longer than any other statement.
            sqlx::raw_sql(forget::VACUUM).execute(&mut connection.db).await
        };
        vacuum.await.map_err(StoreError::unavailable)?;
        connection.close().await;
        Ok(())
    }
}

/// Reads on one of the store's own connections, and gives it back if nothing went wrong. What was idle
/// may have been closed by the server, and is read again on a fresh connection. A future that is dropped
/// on the way closes its connection.
macro_rules! reading {
    ($self:ident, $reader:expr, $own:ident, $read:expr) => {
        Box::pin(async move {
            loop {
                let mut reader = $reader.await?;
                let found = {
                    let $own = &mut reader.own(&$self.0.keys);
                    $read.await
                };
                match &found {
                    Ok(_) | Err(StoreError::Refused { .. }) => reader.give_back(),
                    Err(_) if reader.was_idle => {
                        reader.give_up();
                        continue;
                    }
                    Err(_) => reader.give_up(),
                }
                return found;
            }
        })
    };
    ($self:ident, $own:ident, $read:expr) => {
        reading!($self, $self.0.own_reader(), $own, $read)
    };
}

impl Store for PostgresStore {
    fn occupancy(&self) -> Option<&Occupancy> {
        Some(&self.0.occupancy)
    }

    fn connection_type(&self) -> ConnectionType {
        ConnectionType::of::<PgConnection>()
    }

    fn keys(&self) -> &SealKeys {
        &self.0.keys
    }

    fn writers(&self) -> usize {
        WRITERS
    }

    fn lends_apart(&self) -> bool {
        true
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn Transaction>, StoreError>> {
        Box::pin(async { Ok(Box::new(self.0.begin().await?) as Box<dyn Transaction>) })
    }

    fn reader(&self) -> BoxFuture<'_, Result<Box<dyn Reader>, StoreError>> {
        Box::pin(async {
            let reader = ToolReader::begin(&self.0.tools).await.map_err(StoreError::unavailable)?;
            Ok(Box::new(reader) as Box<dyn Reader>)
        })
    }

    fn owner<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<UserId>, StoreError>> {
        reading!(self, own, read::owner(own, session))
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, StoreError>> {
        reading!(self, own, read::session(own, session))
    }

    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        size: PartSize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>> {
        reading!(self, own, read::transcript(own, session, from, size))
    }

    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>> {
        reading!(self, own, read::interrupted(own))
    }

    fn temporary(&self, most: usize) -> BoxFuture<'_, Result<Vec<TemporaryChat>, StoreError>> {
        reading!(self, own, erase::temporary(own, most))
    }

    fn sessions<'a>(
        &'a self,
        user: &'a UserId,
        page: &'a SessionPage,
    ) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        reading!(self, own, session_list::read(own, user, page))
    }

    fn summary<'a>(
        &'a self,
        user: &'a UserId,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionSummary>, StoreError>> {
        reading!(self, own, session_list::one(own, user, session))
    }

    fn search<'a>(
        &'a self,
        user: &'a UserId,
        query: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchPage, StoreError>> {
        reading!(self, self.0.reader_of(&self.0.searching), own, search::search(own, user, query))
    }

    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>> {
        reading!(self, own, read::submitted(own, session, key))
    }

    fn turn<'a>(
        &'a self,
        session: &'a SessionId,
        turn: TurnId,
    ) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        reading!(self, own, read::turn(own, session, turn))
    }

    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>> {
        reading!(self, own, calls::read(own, filter))
    }

    fn links<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<(Vec<Link>, ChainEnd), StoreError>> {
        reading!(self, own, read::links(own, session))
    }

    fn forget<'a>(&'a self, order: &'a Forget) -> BoxFuture<'a, Result<Forgotten, ForgetError>> {
        Box::pin(async {
            let _occupied = self.0.occupancy.occupy().ok_or(ForgetError::InUse)?;
            let mut transaction = self.0.begin().await?;
            let mut own = transaction.own()?;
            let forgotten = forget::erase(&mut own, &self.0.claim, order).await?;
            Box::new(transaction).commit().await?;
            self.0.vacuum().await.map_err(ForgetError::NotRewritten)?;
            Ok(forgotten)
        })
    }

    fn erased(&self) -> BoxFuture<'_, Result<Vec<ErasedChain>, StoreError>> {
        reading!(self, own, forget::erased(own))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.0.own.close().await;
            self.0.searching.close().await;
            self.0.tools.close().await;
            self.0.writing.close().await;
            // Last: until then this process may still write.
            self.0.claim.release().await;
        })
    }
}
