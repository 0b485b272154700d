//! A connection as the store itself uses it.

use madang_actors::ledger::SealKeys;
use sqlx::{AssertSqlSafe, SqliteConnection};

/// A connection as the store itself uses it. Where it is lent at other times, each statement begins with a mark that no
/// borrower knows: sqlx keeps what was prepared by its text, and what was prepared for the store is not asked about again.
#[derive(Debug)]
pub(super) struct Own<'c> {
    pub(super) db: &'c mut SqliteConnection,
    /// Under which what is decided is sealed.
    pub(super) keys: &'c SealKeys,
    mark: &'c str,
}

impl<'c> Own<'c> {
    /// For a connection that is lent at other times.
    pub(super) const fn marked(
        db: &'c mut SqliteConnection,
        keys: &'c SealKeys,
        mark: &'c str,
    ) -> Self {
        Self { db, keys, mark }
    }

    /// For a connection that is never lent.
    pub(super) const fn unmarked(db: &'c mut SqliteConnection, keys: &'c SealKeys) -> Self {
        Self { db, keys, mark: "" }
    }

    /// A statement of the store's own.
    pub(super) fn sql(&self, statement: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe([self.mark, statement].concat())
    }
}
