//! A connection as the store itself uses it.

use madang_actors::ledger::SealKeys;
use sqlx::{AssertSqlSafe, SqliteConnection};

/// A connection as the store itself uses it. On a connection that is also lent, each statement
/// begins with a mark that no borrower knows. A borrower cannot reuse the store's prepared
/// statements, since sqlx finds them by their text.
#[derive(Debug)]
pub(super) struct Own<'c> {
    pub(super) db: &'c mut SqliteConnection,
    /// Seal approvals and owners.
    pub(super) keys: &'c SealKeys,
    /// Empty on a connection that is never lent.
    pub(super) mark: &'c str,
}

impl Own<'_> {
    /// Marks a statement as the store's own.
    pub(super) fn sql(&self, statement: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe([self.mark, statement].concat())
    }
}
