//! A connection as the store itself uses it, which does not wait for ever.

use std::{io::ErrorKind, time::Duration};

use madang_actors::{ledger::SealKeys, port::StoreError};
use sqlx::{
    AssertSqlSafe, PgConnection, Postgres,
    postgres::{PgArguments, PgRow},
    query::Query,
};
use tokio::time::timeout;

/// How long the store waits for an answer of the server. It is longer than the server's own bounds
/// of a statement, so it passes only if the server or the way to it is gone. The connection is closed
/// then.
const PATIENCE: Duration = Duration::from_secs(15);

/// A statement with its values.
pub(super) type Statement<'q> = Query<'q, Postgres, PgArguments>;

/// A connection as the store itself uses it. On a connection that is also lent, each statement begins
/// with a mark that no borrower knows, and is prepared without a name: sqlx finds a prepared statement
/// by its text, and a borrower could put another one in the place of a name.
#[derive(Debug)]
pub(super) struct Own<'c> {
    pub(super) db: &'c mut PgConnection,
    /// Seal approvals and owners.
    pub(super) keys: &'c SealKeys,
    /// Empty on a connection that is never lent.
    pub(super) mark: &'c str,
}

impl Own<'_> {
    /// Makes a statement of the store's own.
    pub(super) fn query<'q>(&self, sql: &str) -> Statement<'q> {
        self.prepared(sqlx::query(AssertSqlSafe([self.mark, sql].concat())))
    }

    /// Keeps a borrower from the prepared statement.
    pub(super) fn prepared<'q>(&self, statement: Statement<'q>) -> Statement<'q> {
        statement.persistent(self.mark.is_empty())
    }

    pub(super) async fn all(&mut self, statement: Statement<'_>) -> Result<Vec<PgRow>, StoreError> {
        patiently(statement.fetch_all(&mut *self.db)).await.map_err(StoreError::unavailable)
    }

    pub(super) async fn one(
        &mut self,
        statement: Statement<'_>,
    ) -> Result<Option<PgRow>, StoreError> {
        patiently(statement.fetch_optional(&mut *self.db)).await.map_err(StoreError::unavailable)
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub(super) async fn run(&mut self, statement: Statement<'_>) -> Result<u64, StoreError> {
        let done = patiently(statement.execute(&mut *self.db)).await;
        Ok(done.map_err(StoreError::unavailable)?.rows_affected())
    }
}

/// Runs statements without values, in one trip.
pub(super) async fn say(db: &mut PgConnection, sql: String) -> sqlx::Result<()> {
    patiently(sqlx::raw_sql(AssertSqlSafe(sql)).execute(db)).await.map(drop)
}

/// Waits for the server no longer than is sensible.
pub(super) async fn patiently<T>(answer: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    within(PATIENCE, answer).await
}

/// Waits for the server this long. The connection must not be used after that.
pub(super) async fn within<T>(
    patience: Duration,
    answer: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    match timeout(patience, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(sqlx::Error::Io(ErrorKind::TimedOut.into())),
    }
}
