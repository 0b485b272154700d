//! Runs a part of a transaction that can fail alone, for a handler that continues after a failed
//! step.

use std::{
    pin::pin,
    task::{Context, Waker},
};

use sqlx::{AssertSqlSafe, SqliteConnection};
use tracing::debug;
use uuid::Uuid;

/// Runs a part of a transaction that can be undone alone. `Ok` keeps the part, and `Err`, a panic
/// or a drop undoes it. Parts can be nested. Use it in transactional tools and
/// `Runtime::transaction`, on the connection that they borrow.
///
/// A part that is kept is committed or undone with the transaction around it. Do not use sqlx's own
/// `begin` instead: if it is dropped while it runs, it rolls back twice.
///
/// ```
/// # use sqlx::SqliteConnection;
/// # use madang::{store::savepoint, tool::ToolResult};
/// /// Imports what it can and returns how many lines failed.
/// async fn import(lines: &[String], db: &mut SqliteConnection) -> ToolResult<usize> {
///     let mut failed = 0;
///     for line in lines {
///         let imported = savepoint(db, async |db| {
///             let insert = sqlx::query("INSERT INTO lines (text) VALUES ($1)").bind(line);
///             insert.execute(&mut *db).await?;
///             sqlx::query("UPDATE books SET length = length + 1").execute(db).await
///         });
///         failed += usize::from(imported.await.is_err());
///     }
///     Ok(failed)
/// }
/// ```
///
/// # Errors
/// The part's own error, or SQLite's error if the savepoint could not begin or end. If the end
/// fails, the *whole* transaction is rolled back, because the part may have ended its savepoint
/// itself. The tool's call or `Runtime::transaction` then fails, whatever its function returns. It
/// also fails if a part is dropped after statements that were not awaited and fill the connection's
/// queue.
pub async fn savepoint<T, E, F>(db: &mut SqliteConnection, part: F) -> Result<T, E>
where
    F: AsyncFnOnce(&mut SqliteConnection) -> Result<T, E>,
    E: From<sqlx::Error>,
{
    let mut open = Part::begin(db).await?;
    let result = part(open.db).await;
    let name = &open.name;
    match result {
        Ok(value) => {
            let keep = format!("RELEASE {name}");
            open.end(keep).await?;
            Ok(value)
        }
        Err(error) => {
            let undo = format!("ROLLBACK TO {name}; RELEASE {name}");
            if let Err(cause) = open.end(undo).await {
                debug!(%cause, "a savepoint could not be undone; the transaction was");
            }
            Err(error)
        }
    }
}

/// The prefix of the names of savepoints made here.
const PART: &str = "part_";

/// Returns whether a savepoint of this name was made here.
pub(super) fn is_part(name: &[u8]) -> bool {
    name.strip_prefix(PART.as_bytes()).is_some_and(|id| Uuid::try_parse_ascii(id).is_ok())
}

/// A savepoint that is open until it is ended.
struct Part<'c> {
    db: &'c mut SqliteConnection,
    /// Unique: a late end must not meet another savepoint.
    name: String,
    is_open: bool,
}

impl<'c> Part<'c> {
    async fn begin(db: &'c mut SqliteConnection) -> sqlx::Result<Self> {
        let name = format!("{PART}{}", Uuid::now_v7().simple());
        let mut part = Self { db, name, is_open: true };
        let begun = run(part.db, format!("SAVEPOINT {}", part.name)).await;
        part.is_open = begun.is_ok();
        begun.map(|()| part)
    }

    /// Ends the savepoint by this statement.
    async fn end(&mut self, sql: String) -> sqlx::Result<()> {
        let ended = run(self.db, sql).await;
        if ended.is_err() {
            // The part ended its savepoint itself, and its writes may be kept outside. So roll all
            // back; the store notices.
            if let Err(error) = run(self.db, "ROLLBACK".to_owned()).await {
                debug!(%error, "the transaction was over already");
            }
        }
        self.is_open = false;
        ended
    }
}

impl Drop for Part<'_> {
    /// Undoes a part that was dropped or panicked, without waiting: one poll queues the statement
    /// on SQLite's thread, before any later statement of this connection. If the queue is full, the
    /// store finds the part open at the end and undoes everything. A savepoint that never began or
    /// already ended has no name to roll back to, so nothing happens.
    fn drop(&mut self) {
        if self.is_open {
            let undo = pin!(run(self.db, format!("ROLLBACK TO {}", self.name)));
            let polled = undo.poll(&mut Context::from_waker(Waker::noop()));
            debug!(is_sent = polled.is_pending(), "a savepoint was cut off and is undone");
        }
    }
}

/// Runs a statement without caching it: each name is new, so the statement never comes again.
async fn run(db: &mut SqliteConnection, sql: String) -> sqlx::Result<()> {
    sqlx::query(AssertSqlSafe(sql)).persistent(false).execute(db).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_was_made_here_is_a_parts() {
        let own = format!("{PART}{}", Uuid::now_v7().simple());
        assert!(is_part(own.as_bytes()));
        for other in ["", "part", "part_", "part_1", "mine", &own[1..], &own[PART.len()..]] {
            assert!(!is_part(other.as_bytes()), "{other}");
        }
    }
}
