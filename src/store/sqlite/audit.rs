//! Reads the ledger of a session for an audit, which trusts nothing in it.

use std::collections::BTreeSet;

use madang_actors::{
    ledger::{ChainEnd, Link},
    port::{Damaged, LedgerRow, SessionLedger, StoreError},
    protocol::{CallId, SessionId},
};
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use super::{
    SqliteStore,
    read::all,
    row::{self, column},
    schema::{self, SchemaFault},
};
use crate::store::rows::value;

impl SqliteStore {
    /// Lists the sessions of which any table has a row, in the order of their ids.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub async fn recorded_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let sql = "SELECT session FROM madang_sessions UNION SELECT session FROM madang_transitions \
                   UNION SELECT session FROM madang_calls ORDER BY session";
        let mut reader = self.0.own_reader().await?;
        let ids = sqlx::query_scalar::<_, String>(sql).fetch_all(reader.db()).await;
        ids.map_err(StoreError::unavailable)?.iter().map(|id| value::session(id)).collect()
    }

    /// Compares the store's tables, indexes, views and triggers with those that its migrations
    /// create, and returns the differences. If a trigger is missing, the tables do not enforce the
    /// ledger's rules.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub async fn schema_faults(&self) -> Result<Vec<SchemaFault>, StoreError> {
        let mut reader = self.0.own_reader().await?;
        schema::faults(reader.db()).await.map_err(StoreError::unavailable)
    }

    /// Reads all that the store has about the calls of a session, at one moment, or `None` if it
    /// has nothing. Audit it with [`SessionLedger::audit`]. Needs no lock and disturbs no writer.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read. A row that can be read but makes no sense is
    /// part of the result.
    pub async fn session_ledger(
        &self,
        session: &SessionId,
    ) -> Result<Option<SessionLedger>, StoreError> {
        let mut reader = self.0.own_reader().await?;
        let db = reader.db();
        // Three queries see one moment. If this future is dropped, the next reader ends the
        // transaction.
        sqlx::query("BEGIN").execute(&mut *db).await.map_err(StoreError::unavailable)?;
        let ledger = read(db, session).await;
        sqlx::query("COMMIT").execute(db).await.map_err(StoreError::unavailable)?;
        ledger
    }
}

async fn read(
    db: &mut SqliteConnection,
    session: &SessionId,
) -> Result<Option<SessionLedger>, StoreError> {
    let its = "SELECT chain_length, chain_head, user AS owner, opened_at, seal AS owner_seal \
               FROM madang_sessions WHERE session = $1";
    let of_session = |sql: &'static str| sqlx::query(sql).bind(session.as_str());
    let its = all(db, of_session(its)).await?;
    let end = its.first().map(row::chain_end).transpose()?;
    let damaged = |_| Damaged { what: "the row of the session".to_owned() };
    let owner = its.first().map(|row| row::owner(row).map_err(damaged));
    let links = "SELECT * FROM madang_transitions WHERE session = $1 ORDER BY position";
    let links = all(db, of_session(links)).await?;
    let links: Vec<_> = links.iter().zip(1..).map(|(row, position)| link(row, position)).collect();
    let calls = "SELECT * FROM madang_calls WHERE session = $1 ORDER BY number";
    let calls = all(db, of_session(calls)).await?;
    let calls: Vec<_> = calls.iter().map(call).collect();
    let entries = "SELECT seq, call FROM madang_messages WHERE session = $1 AND call IS NOT NULL";
    let entries = all(db, of_session(entries)).await?;
    let entries: BTreeSet<_> = entries.iter().map(entry).collect::<Result<_, _>>()?;
    if end.is_none() && links.is_empty() && calls.is_empty() {
        return Ok(None);
    }
    let end = end.unwrap_or(ChainEnd::EMPTY);
    let session = session.clone();
    Ok(Some(SessionLedger { session, links, end, calls, owner, entries }))
}

/// Reads the link at this position, and requires each byte to be as the store writes it.
fn link(row: &SqliteRow, position: i64) -> Result<Link, Damaged> {
    let as_written = || -> Result<Option<Link>, StoreError> {
        let (stored, text): (i64, &str) = (column(row, "position")?, column(row, "transition")?);
        let link = row::link(row)?;
        let is_same = link.as_ref().is_some_and(|link| {
            stored == position
                && value::json(&link.transition) == text
                && column::<&str>(row, "step")
                    .is_ok_and(|step| step == <&str>::from(&link.transition))
        });
        Ok(link.filter(|_| is_same))
    };
    let damaged = || Damaged { what: format!("transition {position}") };
    as_written().ok().flatten().ok_or_else(damaged)
}

fn call(row: &SqliteRow) -> Result<LedgerRow, Damaged> {
    let id = column::<&str>(row, "call").unwrap_or("without an id");
    row::call(row).ok().flatten().ok_or_else(|| Damaged { what: format!("the row of call {id}") })
}

fn entry(row: &SqliteRow) -> Result<(u64, CallId), StoreError> {
    Ok((value::number(column(row, "seq")?, "seq")?, value::call_id(column(row, "call")?)?))
}
