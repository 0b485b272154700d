//! A part of a transaction that can fail by itself: for a handler that goes on after one of its steps failed.

use std::{
    pin::pin,
    task::{Context, Waker},
};

use sqlx::{AssertSqlSafe, SqliteConnection};
use tracing::debug;
use uuid::Uuid;

/// Runs a part of a transaction that can be undone by itself: kept where it gives `Ok`, undone where it gives `Err`,
/// panics, or is dropped before its end. Parts nest. Made for transactional tools and `Runtime::transaction`, on the
/// connection that they are lent.
///
/// Kept means: part of the transaction around it, and committed or undone with that. Do not use sqlx's own `begin` for
/// this: cut off in flight, it rolls back twice.
///
/// ```
/// # use sqlx::SqliteConnection;
/// # use madang::{store::savepoint, tool::ToolResult};
/// /// Imports what it can and gives how many lines it could not.
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
/// What the part gave; or SQLite's error where a savepoint could not be begun or ended. In the second case it is unknown
/// what the transaction holds (its end may have been typed inside of the part), so the *whole* transaction is
/// rolled back: a tool's call or a `Runtime::transaction` then ends with an error, whatever its function gives. So does one
/// that drops a part behind more statements than the connection's queue holds, none of which it waited for.
pub async fn savepoint<T, E, F>(db: &mut SqliteConnection, part: F) -> Result<T, E>
where
    F: AsyncFnOnce(&mut SqliteConnection) -> Result<T, E>,
    E: From<sqlx::Error>,
{
    let mut open = Part::begin(db).await?;
    let result = part(open.db).await;
    match result {
        Ok(value) => {
            open.end(End::Keep).await?;
            Ok(value)
        }
        Err(error) => {
            if let Err(cause) = open.end(End::Undo).await {
                debug!(%cause, "a savepoint could not be undone; the transaction was");
            }
            Err(error)
        }
    }
}

/// Begins the name of each savepoint that is made here.
const PART: &str = "part_";

/// Whether this names a savepoint that was made here.
pub(super) fn is_part(name: &[u8]) -> bool {
    name.strip_prefix(PART.as_bytes()).is_some_and(|id| Uuid::try_parse_ascii(id).is_ok())
}

/// A savepoint that is open until it is ended.
struct Part<'c> {
    db: &'c mut SqliteConnection,
    /// Never used before: an end that comes too late must not meet another's savepoint.
    name: String,
    is_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Keep,
    Undo,
}

impl<'c> Part<'c> {
    async fn begin(db: &'c mut SqliteConnection) -> sqlx::Result<Self> {
        let name = format!("{PART}{}", Uuid::now_v7().simple());
        let mut part = Self { db, name, is_open: true };
        let begun = run(part.db, format!("SAVEPOINT {}", part.name)).await;
        part.is_open = begun.is_ok();
        begun.map(|()| part)
    }

    async fn end(&mut self, end: End) -> sqlx::Result<()> {
        let name = &self.name;
        let sql = match end {
            End::Keep => format!("RELEASE {name}"),
            End::Undo => format!("ROLLBACK TO {name}; RELEASE {name}"),
        };
        let ended = run(self.db, sql).await;
        if ended.is_err() {
            // It ended already, and what it wrote may have been kept with what is around it. Nothing of the
            // transaction is then, and the store notices.
            if let Err(error) = run(self.db, "ROLLBACK".to_owned()).await {
                debug!(%error, "the transaction was over already");
            }
        }
        self.is_open = false;
        ended
    }
}

impl Drop for Part<'_> {
    /// Cut off, or in a panic. Nothing can be waited for here, and need not be: one poll puts the statement into the
    /// queue of SQLite's thread, before whatever is done next on this connection. It runs although no caller hears of it.
    /// Where the queue is full it is not put there: the store finds the part open at the end, and undoes all. Where the
    /// savepoint was not begun yet, or has ended already, there is none of its name and nothing is undone.
    fn drop(&mut self) {
        if self.is_open {
            let undo = pin!(run(self.db, format!("ROLLBACK TO {}", self.name)));
            let polled = undo.poll(&mut Context::from_waker(Waker::noop()));
            debug!(is_sent = polled.is_pending(), "a savepoint was cut off and is undone");
        }
    }
}

/// Each name is new, so a prepared statement would never be met again.
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
