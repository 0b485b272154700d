//! A connection as the store itself uses it.

use madang_actors::ledger::SealKeys;
use sqlx::{AssertSqlSafe, SqliteConnection};

/// A connection as the store itself uses it. On a connection that is also lent, each statement begins with a mark that
/// no borrower knows. A borrower cannot reuse the store's prepared statements, since sqlx finds them by their text.
#[derive(Debug)]
pub(super) struct Own<'c> {
    pub(super) db: &'c mut SqliteConnection,
    /// Seal approvals and owners.
    pub(super) keys: &'c SealKeys,
    mark: &'c str,
}

impl<'c> Own<'c> {
    /// Uses a connection that is lent at other times.
    pub(super) const fn marked(
        db: &'c mut SqliteConnection,
        keys: &'c SealKeys,
        mark: &'c str,
    ) -> Self {
        Self { db, keys, mark }
    }

    /// Uses a connection that is never lent.
    pub(super) const fn unmarked(db: &'c mut SqliteConnection, keys: &'c SealKeys) -> Self {
        Self { db, keys, mark: "" }
    }

    /// Marks a statement as the store's own.
    pub(super) fn sql(&self, statement: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe([self.mark, statement].concat())
    }
}
