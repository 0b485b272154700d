//! sqlx's own counting of transactions, which a borrower's `begin` on a lent connection goes by: the
//! store begins through it, so that such a `begin` is a savepoint.

use sqlx::{AssertSqlSafe, Database, PgConnection, Postgres, SqlSafeStr as _};
use sqlx_core::transaction::TransactionManager as _;

type Manager = <Postgres as Database>::TransactionManager;

/// Begins a transaction with this statement, or a savepoint.
pub(super) async fn begin(db: &mut PgConnection, statement: Option<&str>) -> sqlx::Result<()> {
    let statement = statement.map(|sql| AssertSqlSafe(sql.to_owned()).into_sql_str());
    Manager::begin(db, statement).await
}

/// Commits the transaction, or keeps the innermost savepoint.
pub(super) async fn commit(db: &mut PgConnection) -> sqlx::Result<()> {
    Manager::commit(db).await
}

/// Undoes the transaction, or the innermost savepoint.
pub(super) async fn roll_back(db: &mut PgConnection) -> sqlx::Result<()> {
    Manager::rollback(db).await
}

/// Does the same without waiting: the statement is sent before the next one of this connection.
pub(super) fn start_rollback(db: &mut PgConnection) {
    Manager::start_rollback(db);
}

/// Counts the transaction and the savepoints in it that were begun here and have not ended.
pub(super) fn depth(db: &PgConnection) -> usize {
    Manager::get_transaction_depth(db)
}
