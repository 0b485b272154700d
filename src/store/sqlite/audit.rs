//! Reads the ledger of a session for an audit, which trusts nothing in it.

use std::collections::BTreeSet;

use madang_actors::{
    ledger::ChainEnd,
    port::{Damaged, SessionLedger, StoreError},
    protocol::SessionId,
};
use sqlx::SqliteConnection;

use super::{
    SqliteStore,
    read::all,
    schema::{self, SchemaFault},
};
use crate::store::rows::{
    chat::owner,
    ledger::{audited_call, audited_link, chain_end, entry_of_call},
    value,
};

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
    let end = its.first().map(chain_end).transpose()?;
    let damaged = |_| Damaged { what: "the row of the session".to_owned() };
    let owner = its.first().map(|row| owner(row).map_err(damaged));
    let links = "SELECT * FROM madang_transitions WHERE session = $1 ORDER BY position";
    let links = all(db, of_session(links)).await?;
    let links: Vec<_> =
        links.iter().zip(1..).map(|(row, position)| audited_link(row, position)).collect();
    let calls = "SELECT * FROM madang_calls WHERE session = $1 ORDER BY number";
    let calls = all(db, of_session(calls)).await?;
    let calls: Vec<_> = calls.iter().map(audited_call).collect();
    let entries = "SELECT seq, call FROM madang_messages WHERE session = $1 AND call IS NOT NULL";
    let entries = all(db, of_session(entries)).await?;
    let entries: BTreeSet<_> = entries.iter().map(entry_of_call).collect::<Result<_, _>>()?;
    if end.is_none() && links.is_empty() && calls.is_empty() {
        return Ok(None);
    }
    let end = end.unwrap_or(ChainEnd::EMPTY);
    let session = session.clone();
    Ok(Some(SessionLedger { session, links, end, calls, owner, entries }))
}
