//! Lets reading tools use a database that another program holds, and keeps their records in memory.

use madang::{
    IdempotencyKey, SessionId, TurnId, UserId,
    store::{
        SqliteStore,
        port::{
            BoxFuture, ChainEnd, ConnectionType, ErasedChain, Forget, ForgetError, Forgotten,
            InterruptedSession, LedgerFilter, LedgerRow, Link, Occupancy, Reader, SealKeys,
            SessionPage, SessionSummary, Store, StoreError, StoredSession, StoredTurn,
            SubmittedTurn, Transaction, TranscriptPart,
        },
    },
};
use madang_testing::MemoryStore;

/// What a read of a store gives.
type Read<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Lends connections that read a database of another process, for a runtime whose tools only read. The runtime's own
/// records are in memory and end with it. So it refuses tools that do more than read:
/// [`BuildError::Writes`](madang::error::BuildError::Writes).
#[derive(Debug)]
pub(crate) struct Beside {
    database: SqliteStore,
    record: MemoryStore,
}

impl Beside {
    /// Reads this database, which was [opened to read only](SqliteStore::open_read_only).
    #[must_use]
    pub(crate) fn new(database: SqliteStore) -> Self {
        Self { database, record: MemoryStore::new() }
    }
}

impl Store for Beside {
    fn connection_type(&self) -> ConnectionType {
        self.database.connection_type()
    }

    fn keys(&self) -> &SealKeys {
        self.record.keys()
    }

    fn occupancy(&self) -> Option<&Occupancy> {
        self.record.occupancy()
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn begin(&self) -> Read<'_, Box<dyn Transaction>> {
        self.record.begin()
    }

    fn reader(&self) -> Read<'_, Box<dyn Reader>> {
        self.database.reader()
    }

    fn owner<'a>(&'a self, session: &'a SessionId) -> Read<'a, Option<UserId>> {
        Box::pin(async {
            match self.database.owner(session).await? {
                Some(owner) => Ok(Some(owner)),
                None => self.record.owner(session).await,
            }
        })
    }

    fn session<'a>(&'a self, session: &'a SessionId) -> Read<'a, Option<StoredSession>> {
        self.record.session(session)
    }

    fn transcript<'a>(
        &'a self,
        session: &'a SessionId,
        from: u64,
        max: usize,
    ) -> Read<'a, TranscriptPart> {
        self.record.transcript(session, from, max)
    }

    fn interrupted(&self) -> Read<'_, Vec<InterruptedSession>> {
        self.record.interrupted()
    }

    fn sessions<'a>(
        &'a self,
        user: &'a UserId,
        page: &'a SessionPage,
    ) -> Read<'a, Vec<SessionSummary>> {
        self.record.sessions(user, page)
    }

    fn submitted<'a>(
        &'a self,
        session: &'a SessionId,
        key: &'a IdempotencyKey,
    ) -> Read<'a, Option<SubmittedTurn>> {
        self.record.submitted(session, key)
    }

    fn turn<'a>(&'a self, session: &'a SessionId, turn: TurnId) -> Read<'a, Option<StoredTurn>> {
        self.record.turn(session, turn)
    }

    fn calls<'a>(&'a self, filter: &'a LedgerFilter) -> Read<'a, Vec<LedgerRow>> {
        self.record.calls(filter)
    }

    fn links<'a>(&'a self, session: &'a SessionId) -> Read<'a, (Vec<Link>, ChainEnd)> {
        self.record.links(session)
    }

    fn forget<'a>(&'a self, order: &'a Forget) -> BoxFuture<'a, Result<Forgotten, ForgetError>> {
        // The database refuses, since it is open to read; memory holds nothing of the user.
        self.database.forget(order)
    }

    fn erased(&self) -> Read<'_, Vec<ErasedChain>> {
        self.database.erased()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.record.close().await;
            self.database.close().await;
        })
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
    use madang_testing::ScriptedModel;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_runtime_over_it_takes_no_tool_that_does_more_than_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("held.db");
        let held = SqliteStore::open(&file, []).await.unwrap();
        for effect in [EffectPolicy::Read, EffectPolicy::Write, EffectPolicy::Destructive] {
            let beside = Beside::new(SqliteStore::open_read_only(&file).await.unwrap());
            // A plain tool needs no connection that would give it away.
            let handler = async |_: NoArguments, _: &ToolContext| -> ToolResult<()> { Ok(()) };
            let mail = tool::plain("mail", "Sends a mail.", handler).effect(effect);
            let builder = Runtime::builder().model(ScriptedModel::new([])).store(beside).tool(mail);
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
        let held = SqliteStore::open(&file, []).await.unwrap();
        let beside = Beside::new(SqliteStore::open_read_only(&file).await.unwrap());
        let kim = UserId::new("kim").unwrap();
        let at = SystemClock.now();
        let order = Forget { user: kim.clone(), by: kim, at, tables: Vec::new() };
        let refused = beside.forget(&order).await;
        assert!(matches!(refused, Err(ForgetError::Store(_))), "{refused:?}");
        assert_eq!(beside.erased().await.unwrap(), []);
        beside.close().await;
        held.close().await;
    }
}
