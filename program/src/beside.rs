//! Lets reading tools use a database that another program holds, and keeps their records apart from
//! it.

use madang::{
    IdempotencyKey, SessionId, TurnId, UserId,
    store::{
        OpenError, SqliteStore,
        port::{
            BoxFuture, ChainEnd, ConnectionType, ErasedChain, Forget, ForgetError, Forgotten,
            InterruptedSession, LedgerFilter, LedgerRow, Link, Occupancy, PartSize, Reader,
            SealKeys, SearchPage, SearchQuery, SessionPage, SessionSummary, Store, StoreError,
            StoredSession, StoredTurn, SubmittedTurn, TemporaryChat, Transaction, TranscriptPart,
        },
    },
};

/// Lends connections that read a database of another process, for a runtime whose tools only read.
/// The runtime's own records are in a temporary database and end with it. So it refuses tools that
/// do more than read: [`BuildError::Writes`](madang::error::BuildError::Writes).
#[derive(Debug)]
pub(crate) struct Beside {
    /// The database of the other process, opened to read only.
    database: SqliteStore,
    record: SqliteStore,
}

impl Beside {
    /// Reads this database, which was [opened to read only](SqliteStore::open_read_only).
    ///
    /// # Errors
    /// [`OpenError`] if no temporary database can be made.
    pub(crate) async fn new(database: SqliteStore) -> Result<Self, OpenError> {
        Ok(Self { database, record: SqliteStore::in_memory().await? })
    }
}

/// What tools and persons read is the other process's, and what the runtime writes is its own.
impl Store for Beside {
    fn connection_type(&self) -> ConnectionType {
        self.database.connection_type()
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn reader(&self) -> BoxFuture<'_, Result<Box<dyn Reader>, StoreError>> {
        self.database.reader()
    }

    fn owner<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<UserId>, StoreError>> {
        Box::pin(async move {
            match self.database.owner(session).await? {
                Some(owner) => Ok(Some(owner)),
                None => self.record.owner(session).await,
            }
        })
    }

    fn forget<'a>(&'a self, order: &'a Forget) -> BoxFuture<'a, Result<Forgotten, ForgetError>> {
        // The database refuses, since it is open to read; the record holds nothing of the user.
        self.database.forget(order)
    }

    fn erased(&self) -> BoxFuture<'_, Result<Vec<ErasedChain>, StoreError>> {
        self.database.erased()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.record.close().await;
            self.database.close().await;
        })
    }

    fn keys(&self) -> &SealKeys {
        self.record.keys()
    }

    fn occupancy(&self) -> Option<&Occupancy> {
        self.record.occupancy()
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn Transaction>, StoreError>> {
        self.record.begin()
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, StoreError>> {
        self.record.session(session)
    }

    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        size: PartSize,
    ) -> BoxFuture<'a, Result<TranscriptPart, StoreError>> {
        self.record.transcript(session, from, size)
    }

    fn interrupted(&self) -> BoxFuture<'_, Result<Vec<InterruptedSession>, StoreError>> {
        self.record.interrupted()
    }

    fn temporary(&self, most: usize) -> BoxFuture<'_, Result<Vec<TemporaryChat>, StoreError>> {
        self.record.temporary(most)
    }

    fn sessions<'a>(
        &'a self,
        user: &'a UserId,
        page: &'a SessionPage,
    ) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        self.record.sessions(user, page)
    }

    fn summary<'a>(
        &'a self,
        user: &'a UserId,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionSummary>, StoreError>> {
        self.record.summary(user, session)
    }

    fn search<'a>(
        &'a self,
        user: &'a UserId,
        query: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchPage, StoreError>> {
        self.record.search(user, query)
    }

    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>> {
        self.record.submitted(session, key)
    }

    fn turn<'a>(
        &'a self,
        session: &'a SessionId,
        turn: TurnId,
    ) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        self.record.turn(session, turn)
    }

    fn calls<'a>(
        &'a self,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>, StoreError>> {
        self.record.calls(filter)
    }

    fn links<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<(Vec<Link>, ChainEnd), StoreError>> {
        self.record.links(session)
    }
}

#[cfg(test)]
mod tests {
    use madang::{Clock as _, SystemClock};

    use super::*;
    use madang::{
        Runtime,
        tool::{self, EffectPolicy, NoArguments, ToolContext, ToolResult},
    };

    #[tokio::test(flavor = "multi_thread")]
    async fn a_runtime_over_it_takes_no_tool_that_does_more_than_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("held.db");
        let held = SqliteStore::open(&file).await.unwrap();
        for effect in [EffectPolicy::Read, EffectPolicy::Write, EffectPolicy::Destructive] {
            let store =
                Beside::new(SqliteStore::open_read_only(&file).await.unwrap()).await.unwrap();
            // A plain tool needs no connection that would give it away.
            let handler = async |_: NoArguments, _: &ToolContext| -> ToolResult<()> { Ok(()) };
            let mail = tool::plain("mail", "Sends a mail.", handler).effect(effect);
            let builder = Runtime::builder().store(store).tool(mail);
            match (effect, builder.start().await) {
                (EffectPolicy::Read, Ok(runtime)) => runtime.shutdown().await.unwrap(),
                (EffectPolicy::Write | EffectPolicy::Destructive, Err(refused)) => assert_eq!(
                    refused.to_string(),
                    "tool mail does more than read, and this store keeps no record of what tools do; \
                     give reading tools only"
                ),
                (_, other) => panic!("{effect:?}: {other:?}"),
            }
        }
        held.close().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn forgetting_beside_the_holder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("held.db");
        let held = SqliteStore::open(&file).await.unwrap();
        let store = Beside::new(SqliteStore::open_read_only(&file).await.unwrap()).await.unwrap();
        let kim = UserId::new("kim").unwrap();
        let at = SystemClock.now();
        let order = Forget { user: kim.clone(), by: kim, at, tables: Vec::new() };
        let refused = store.forget(&order).await;
        assert!(matches!(refused, Err(ForgetError::Store(_))), "{refused:?}");
        assert_eq!(store.erased().await.unwrap(), []);
        store.close().await;
        held.close().await;
    }
}
