//! The same memory in the tables of the server, in the file of the chats: it survives the process that wrote it.

use std::{sync::LazyLock, time::Duration};

use madang::{
    IdempotencyKey, Runtime, SessionId, Timestamp, UserId, approval::Digest, tool::BoxFuture,
};
use sqlx::{SqliteConnection, migrate::Migrator};

use super::client_memory::{ClientMemory, MAX_CANDIDATES, MemoryError, Tried};

/// The tables of the server. Their versions stand in a table of their own, `_server_migrations`, because an embedder may
/// have migrations in the same file.
pub static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!("src/openai/migrations");
    migrator.dangerous_set_table_name("_server_migrations");
    migrator
});

/// Erases a user's rows in these tables, for [`Forget::tables`](madang::ledger::Forget).
pub const FORGET: [&str; 2] =
    ["DELETE FROM server_chats WHERE user = $1", "DELETE FROM server_tries WHERE user = $1"];

/// The time after which the end of a chat is not looked for any more.
const CHAT_LIFE: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// The time after which a try is removed: no client waits so long.
const TRY_ROW_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Remembers in the tables of [`MIGRATIONS`], through the store's one writer.
#[derive(Debug)]
pub struct SqliteMemory(Runtime);

impl SqliteMemory {
    /// Takes the runtime whose store has the tables.
    #[must_use]
    pub fn new(runtime: Runtime) -> Self {
        Self(runtime)
    }

    fn run<T, F>(&self, doing: &'static str, run: F) -> BoxFuture<'_, Result<T, MemoryError>>
    where
        T: Send + 'static,
        F: for<'c> madang::TransactionFn<&'c mut SqliteConnection, Value = T, Error = sqlx::Error>,
    {
        let done = self.0.transaction(run);
        Box::pin(
            async move { done.await.map_err(|cause| MemoryError { doing, cause: cause.into() }) },
        )
    }
}

fn before(at: Timestamp, life: Duration) -> i64 {
    at.millis().saturating_sub(i64::try_from(life.as_millis()).unwrap_or(i64::MAX))
}

impl ClientMemory for SqliteMemory {
    fn chats(
        &self,
        user: UserId,
        chain: Digest,
    ) -> BoxFuture<'_, Result<Vec<SessionId>, MemoryError>> {
        self.run("look up the chat of a client", async move |db: &mut SqliteConnection| {
            let rows: Vec<String> = sqlx::query_scalar(
                "SELECT session FROM server_chats WHERE user = $1 AND chain = $2 ORDER BY at DESC, session LIMIT $3",
            )
            .bind(user.as_str())
            .bind(chain.to_string())
            .bind(MAX_CANDIDATES as i64)
            .fetch_all(db)
            .await?;
            // A name that something beside this program has written is none of ours.
            Ok(rows.into_iter().filter_map(|name| SessionId::new(name).ok()).collect())
        })
    }

    fn add_chat(
        &self,
        user: UserId,
        chain: Digest,
        session: SessionId,
        at: Timestamp,
    ) -> BoxFuture<'_, Result<(), MemoryError>> {
        self.run("store the chat of a client", async move |db: &mut SqliteConnection| {
            sqlx::query("DELETE FROM server_chats WHERE at < $1")
                .bind(before(at, CHAT_LIFE))
                .execute(&mut *db)
                .await?;
            sqlx::query(
                "INSERT INTO server_chats (user, chain, session, at) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (user, chain, session) DO UPDATE SET at = excluded.at",
            )
            .bind(user.as_str())
            .bind(chain.to_string())
            .bind(session.as_str())
            .bind(at.millis())
            .execute(db)
            .await?;
            Ok(())
        })
    }

    fn tried(
        &self,
        user: UserId,
        body: Digest,
        since: Timestamp,
    ) -> BoxFuture<'_, Result<Option<Tried>, MemoryError>> {
        self.run("look up an earlier try", async move |db: &mut SqliteConnection| {
            let row: Option<(String, String)> = sqlx::query_as(
                "SELECT session, key FROM server_tries WHERE user = $1 AND body = $2 AND at >= $3",
            )
            .bind(user.as_str())
            .bind(body.to_string())
            .bind(since.millis())
            .fetch_optional(db)
            .await?;
            Ok(row.and_then(|(session, key)| {
                Some(Tried {
                    session: SessionId::new(session).ok()?,
                    key: IdempotencyKey::new(key).ok()?,
                })
            }))
        })
    }

    fn add_try(
        &self,
        user: UserId,
        body: Digest,
        tried: Tried,
        at: Timestamp,
    ) -> BoxFuture<'_, Result<(), MemoryError>> {
        self.run("store a try", async move |db: &mut SqliteConnection| {
            sqlx::query("DELETE FROM server_tries WHERE at < $1").bind(before(at, TRY_ROW_LIFE)).execute(&mut *db).await?;
            sqlx::query(
                "INSERT INTO server_tries (user, body, session, key, at) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (user, body) DO UPDATE SET session = excluded.session, key = excluded.key, at = excluded.at",
            )
            .bind(user.as_str())
            .bind(body.to_string())
            .bind(tried.session.as_str())
            .bind(tried.key.as_str())
            .bind(at.millis())
            .execute(db)
            .await?;
            Ok(())
        })
    }
}
