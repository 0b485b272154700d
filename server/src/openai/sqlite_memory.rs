//! Remembers in tables of the server in the file of the chats, and so beyond the process.

use std::sync::LazyLock;

use madang::{IdempotencyKey, Runtime, SessionId, Timestamp, UserId, approval::Digest};
use sqlx::{SqliteConnection, migrate::Migrator};

use super::client_memory::{ClientMemory, MAX_CANDIDATES, MemoryError, Recalled, Tried};

/// The tables of the server. Their versions are kept in a table of their own, `_server_migrations`,
/// because an embedder may have migrations in the same file.
pub static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!("src/openai/migrations");
    migrator.dangerous_set_table_name("_server_migrations");
    migrator
});

/// The statements that erase a user's rows in these tables, for
/// [`Forget::tables`](madang::ledger::Forget).
pub const FORGET: [&str; 3] = [
    "DELETE FROM server_chats WHERE user = $1",
    "DELETE FROM server_tries WHERE user = $1",
    "DELETE FROM server_forks WHERE user = $1",
];

/// How long the end of a chat is looked for, 90 days.
const CHAT_LIFE_MILLIS: i64 = 90 * 24 * 60 * 60 * 1_000;

/// How many keys of one user are remembered by default. A key is sent again within minutes, or by a
/// job within days. Ten thousand of them take a few megabytes of a disk.
const MAX_KEYS_PER_USER: u32 = 16_384;

/// Remembers in the tables of [`MIGRATIONS`], through the store's one writer.
#[derive(Debug)]
pub struct SqliteMemory {
    runtime: Runtime,
    max_keys_per_user: u32,
}

impl SqliteMemory {
    /// Creates a memory on the runtime whose store has the tables.
    ///
    /// # Errors
    /// Returns [`MemoryError`] if the store was opened without [`MIGRATIONS`], or cannot be read.
    pub async fn open(runtime: Runtime) -> Result<Self, MemoryError> {
        let memory = Self { runtime, max_keys_per_user: MAX_KEYS_PER_USER };
        let doing =
            "find the tables of the server: open its store with `madang_server::MIGRATIONS`";
        let look = async move |db: &mut SqliteConnection| {
            let tables = "SELECT 1 FROM server_chats, server_tries, server_forks LIMIT 0";
            sqlx::query(tables).execute(db).await.map(drop)
        };
        memory.run(doing, look).await?;
        Ok(memory)
    }

    /// Sets how many keys of one user are remembered, the newest ones. The default is 16,384,
    /// because what a client sends must not fill the disk.
    #[must_use]
    pub const fn max_keys_per_user(mut self, max: u32) -> Self {
        self.max_keys_per_user = max;
        self
    }

    fn run<T, F>(&self, doing: &'static str, run: F) -> Recalled<'_, T>
    where
        T: Send + 'static,
        F: for<'c> madang::transaction::TransactionFn<
                &'c mut SqliteConnection,
                Value = T,
                Error = sqlx::Error,
            >,
    {
        let done = self.runtime.transaction(run);
        Box::pin(
            async move { done.await.map_err(|cause| MemoryError { doing, cause: cause.into() }) },
        )
    }
}

impl ClientMemory for SqliteMemory {
    fn chats(&self, user: UserId, chain: Digest) -> Recalled<'_, Vec<SessionId>> {
        self.run("look up the chat of a client", async move |db: &mut SqliteConnection| {
            let rows: Vec<String> = sqlx::query_scalar(
                "SELECT session FROM server_chats WHERE user = $1 AND chain = $2 ORDER BY at DESC, session LIMIT $3",
            )
            .bind(user.as_str())
            .bind(chain.to_string())
            .bind(MAX_CANDIDATES as i64)
            .fetch_all(db)
            .await?;
            Ok(chats_of(rows))
        })
    }

    fn add_chat(
        &self,
        user: UserId,
        chain: Digest,
        session: SessionId,
        at: Timestamp,
    ) -> Recalled<'_, ()> {
        self.run("store the chat of a client", async move |db: &mut SqliteConnection| {
            sqlx::query("DELETE FROM server_chats WHERE at < $1")
                .bind(at.millis().saturating_sub(CHAT_LIFE_MILLIS))
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

    fn tried(&self, user: UserId, name: Digest, now: Timestamp) -> Recalled<'_, Option<Tried>> {
        self.run("look up an earlier try", async move |db: &mut SqliteConnection| {
            Ok(stored(db, &user, name).await?.filter(|tried| tried.counts(now)))
        })
    }

    fn claim_try(
        &self,
        user: UserId,
        name: Digest,
        tried: Tried,
        put_off: Option<Tried>,
        now: Timestamp,
    ) -> Recalled<'_, Tried> {
        let max_keys = self.max_keys_per_user;
        self.run("claim a try", async move |db: &mut SqliteConnection| {
            let (old_session, old_key) = put_off.map(|old| (old.session, old.key)).unzip();
            let number = next_number(db, &user, &tried).await?;
            sqlx::query(
                "INSERT INTO server_tries (user, name, session, key, until, number) VALUES ($1, $2, $3, $4, $5, $9)
                 ON CONFLICT (user, name) DO UPDATE
                 SET session = excluded.session, key = excluded.key, until = excluded.until, number = excluded.number
                 WHERE until < $6 OR (session = $7 AND key = $8)",
            )
            .bind(user.as_str())
            .bind(name.to_string())
            .bind(tried.session.as_str())
            .bind(tried.key.as_str())
            .bind(tried.until.map(Timestamp::millis))
            .bind(now.millis())
            .bind(old_session.as_ref().map(SessionId::as_str))
            .bind(old_key.as_ref().map(IdempotencyKey::as_str))
            .bind(number)
            .execute(&mut *db)
            .await?;
            forget_oldest(db, &user, max_keys).await?;
            // A row with names that are not ours can only be of another program. Its try is passed
            // over, as in `tried`.
            Ok(stored(db, &user, name).await?.unwrap_or(tried))
        })
    }

    fn add_try(
        &self,
        user: UserId,
        name: Digest,
        tried: Tried,
        now: Timestamp,
    ) -> Recalled<'_, ()> {
        let max_keys = self.max_keys_per_user;
        self.run("store a try", async move |db: &mut SqliteConnection| {
            sqlx::query("DELETE FROM server_tries WHERE until < $1")
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
            let number = next_number(db, &user, &tried).await?;
            sqlx::query(
                "INSERT INTO server_tries (user, name, session, key, until, number) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (user, name) DO UPDATE
                 SET session = excluded.session, key = excluded.key, until = excluded.until, number = excluded.number",
            )
            .bind(user.as_str())
            .bind(name.to_string())
            .bind(tried.session.as_str())
            .bind(tried.key.as_str())
            .bind(tried.until.map(Timestamp::millis))
            .bind(number)
            .execute(&mut *db)
            .await?;
            forget_oldest(db, &user, max_keys).await
        })
    }

    fn forks(&self, user: UserId, chat: SessionId) -> Recalled<'_, Vec<SessionId>> {
        self.run("look up the forks of a chat", async move |db: &mut SqliteConnection| {
            let rows: Vec<String> = sqlx::query_scalar(
                "SELECT fork FROM server_forks WHERE user = $1 AND chat = $2 ORDER BY number DESC LIMIT $3",
            )
            .bind(user.as_str())
            .bind(chat.as_str())
            .bind(MAX_CANDIDATES as i64)
            .fetch_all(db)
            .await?;
            Ok(chats_of(rows))
        })
    }

    fn add_fork(&self, user: UserId, chat: SessionId, fork: SessionId) -> Recalled<'_, ()> {
        self.run("store the fork of a chat", async move |db: &mut SqliteConnection| {
            sqlx::query(
                "INSERT INTO server_forks (user, chat, fork, number)
                 SELECT $1, $2, $3, coalesce(max(number), 0) + 1 FROM server_forks WHERE user = $1 AND chat = $2
                 ON CONFLICT (user, chat, fork) DO UPDATE SET number = excluded.number",
            )
            .bind(user.as_str())
            .bind(chat.as_str())
            .bind(fork.as_str())
            .execute(db)
            .await?;
            Ok(())
        })
    }

    fn forget_chat(&self, user: UserId, chat: SessionId) -> Recalled<'_, ()> {
        self.run("forget a deleted chat", async move |db: &mut SqliteConnection| {
            for sql in [
                "DELETE FROM server_chats WHERE user = $1 AND session = $2",
                "DELETE FROM server_tries WHERE user = $1 AND session = $2",
                "DELETE FROM server_forks WHERE user = $1 AND (chat = $2 OR fork = $2)",
            ] {
                sqlx::query(sql).bind(user.as_str()).bind(chat.as_str()).execute(&mut *db).await?;
            }
            Ok(())
        })
    }
}

/// Reads the names of chats. One that another program has written is passed over.
fn chats_of(names: Vec<String>) -> Vec<SessionId> {
    names.into_iter().filter_map(|name| SessionId::new(name).ok()).collect()
}

/// Returns the number of a try under a key. A try without a key has none, and is removed by its
/// age.
async fn next_number(
    db: &mut SqliteConnection,
    user: &UserId,
    tried: &Tried,
) -> Result<Option<i64>, sqlx::Error> {
    if tried.until.is_some() {
        return Ok(None);
    }
    let newest = "SELECT coalesce(max(number), 0) + 1 FROM server_tries WHERE user = $1 AND number IS NOT NULL";
    sqlx::query_scalar(newest).bind(user.as_str()).fetch_one(db).await.map(Some)
}

/// Removes the oldest keys of a user, so that only this many stay.
async fn forget_oldest(
    db: &mut SqliteConnection,
    user: &UserId,
    max_keys: u32,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "DELETE FROM server_tries WHERE user = $1 AND number <=
         (SELECT max(number) FROM server_tries WHERE user = $1 AND number IS NOT NULL) - $2",
    )
    .bind(user.as_str())
    .bind(i64::from(max_keys))
    .execute(db)
    .await?;
    Ok(())
}

/// Reads the try of a name. One that another program has written is passed over.
async fn stored(
    db: &mut SqliteConnection,
    user: &UserId,
    name: Digest,
) -> Result<Option<Tried>, sqlx::Error> {
    let row: Option<(String, String, Option<i64>)> = sqlx::query_as(
        "SELECT session, key, until FROM server_tries WHERE user = $1 AND name = $2",
    )
    .bind(user.as_str())
    .bind(name.to_string())
    .fetch_optional(db)
    .await?;
    Ok(row.and_then(|(session, key, until)| {
        Some(Tried {
            session: SessionId::new(session).ok()?,
            key: IdempotencyKey::new(key).ok()?,
            until: until.map(Timestamp::from_millis),
        })
    }))
}
