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
use sqlx::PgConnection;

use super::{
    calls, erase, forget,
    pool::ToolReader,
    read, search, session_list,
    shared::{Shared, WRITERS},
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

impl PostgresStore {
    async fn begin_own(&self) -> Result<PostgresTransaction, StoreError> {
        PostgresTransaction::begin(self.0.writer().await?, self.0.clone()).await
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
        Box::pin(async { Ok(Box::new(self.begin_own().await?) as Box<dyn Transaction>) })
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
            let mut transaction = self.begin_own().await?;
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
