//! Runs a part of a transaction that can fail alone, for a handler that continues after a failed step.

use sqlx::PgConnection;
use tracing::debug;

use super::managed;

/// Runs a part of a transaction that can be undone alone. `Ok` keeps the part, and `Err`, a panic or a
/// drop undoes it. Parts can be nested. Use it in transactional tools and `Runtime::transaction`, on
/// the connection that they borrow.
///
/// After an error of a statement PostgreSQL refuses all further statements of the transaction, and the
/// store undoes all of it. So a step that may fail belongs in a part.
///
/// ```
/// # use sqlx::PgConnection;
/// # use madang::{store::pg_savepoint, tool::ToolResult};
/// /// Imports what it can and returns how many lines failed.
/// async fn import(lines: &[String], db: &mut PgConnection) -> ToolResult<usize> {
///     let mut failed = 0;
///     for line in lines {
///         let imported = pg_savepoint(db, async |db| {
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
/// The part's own error, or PostgreSQL's error if the savepoint could not begin or end. If it is
/// dropped while it begins, the *whole* transaction is undone, and the tool's call fails whatever its
/// function returns.
pub async fn pg_savepoint<T, E, F>(db: &mut PgConnection, part: F) -> Result<T, E>
where
    F: AsyncFnOnce(&mut PgConnection) -> Result<T, E>,
    E: From<sqlx::Error>,
{
    managed::begin(db, None).await?;
    let mut open = Part { db, is_open: true };
    let result = part(open.db).await;
    match result {
        Ok(value) => {
            // Open until it is kept: an error here leaves the part to be undone.
            managed::commit(open.db).await?;
            open.is_open = false;
            Ok(value)
        }
        Err(error) => {
            if let Err(cause) = managed::roll_back(open.db).await {
                debug!(%cause, "a savepoint could not be undone; the transaction is");
            }
            open.is_open = false;
            Err(error)
        }
    }
}

/// A savepoint that is open until it is ended.
struct Part<'c> {
    db: &'c mut PgConnection,
    is_open: bool,
}

impl Drop for Part<'_> {
    /// Undoes a part that was dropped or panicked, without waiting: the statement is sent before any
    /// later one of this connection.
    fn drop(&mut self) {
        if self.is_open {
            managed::start_rollback(self.db);
            debug!("a savepoint was cut off and is undone");
        }
    }
}
