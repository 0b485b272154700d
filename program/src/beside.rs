//! Lets reading tools use a database that another program holds, and keeps their records in memory.

use madang::{
    SessionId, UserId,
    store::{
        SqliteStore,
        port::{
            BoxFuture, ConnectionType, ErasedChain, Forget, ForgetError, Forgotten, Reader, Store,
        },
    },
};
use madang_testing::{MemoryStore, Read, SteppedStore, Steps};

/// Lends connections that read a database of another process, for a runtime whose tools only read. The runtime's own
/// records are in memory and end with it. So it refuses tools that do more than read:
/// [`BuildError::Writes`](madang::error::BuildError::Writes).
pub(crate) type Beside = SteppedStore<MemoryStore, Database>;

/// Reads this database, which was [opened to read only](SqliteStore::open_read_only).
#[must_use]
pub(crate) fn beside(database: SqliteStore) -> Beside {
    SteppedStore::new(MemoryStore::new(), Database(database))
}

/// The database of the other process; all else is in memory.
#[derive(Debug)]
pub(crate) struct Database(SqliteStore);

impl Steps for Database {
    fn connection_type(&self, _: &dyn Store) -> ConnectionType {
        self.0.connection_type()
    }

    fn only_reads(&self, _: &dyn Store) -> bool {
        true
    }

    fn reader<'a>(&'a self, _: &'a dyn Store) -> BoxFuture<'a, Read<Box<dyn Reader>>> {
        self.0.reader()
    }

    fn owner<'a>(
        &'a self,
        record: &'a dyn Store,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<Option<UserId>>> {
        Box::pin(async move {
            match self.0.owner(session).await? {
                Some(owner) => Ok(Some(owner)),
                None => record.owner(session).await,
            }
        })
    }

    fn forget<'a>(
        &'a self,
        _: &'a dyn Store,
        order: &'a Forget,
    ) -> BoxFuture<'a, Result<Forgotten, ForgetError>> {
        // The database refuses, since it is open to read; memory holds nothing of the user.
        self.0.forget(order)
    }

    fn erased<'a>(&'a self, _: &'a dyn Store) -> BoxFuture<'a, Read<Vec<ErasedChain>>> {
        self.0.erased()
    }

    fn close<'a>(&'a self, record: &'a dyn Store) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            record.close().await;
            self.0.close().await;
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
        let held = SqliteStore::open(&file).await.unwrap();
        for effect in [EffectPolicy::Read, EffectPolicy::Write, EffectPolicy::Destructive] {
            let store = beside(SqliteStore::open_read_only(&file).await.unwrap());
            // A plain tool needs no connection that would give it away.
            let handler = async |_: NoArguments, _: &ToolContext| -> ToolResult<()> { Ok(()) };
            let mail = tool::plain("mail", "Sends a mail.", handler).effect(effect);
            let builder = Runtime::builder().model(ScriptedModel::new([])).store(store).tool(mail);
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
        let store = beside(SqliteStore::open_read_only(&file).await.unwrap());
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
