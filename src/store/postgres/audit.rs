//! Reads the ledger of a session for an audit, which trusts nothing in it.

use std::collections::BTreeSet;

use madang_actors::{
    ledger::{ChainEnd, Link},
    port::{Damaged, SessionLedger, StoreError},
    protocol::SessionId,
};
use sqlx::{Row as _, postgres::PgRow};
use uuid::Uuid;

use super::{
    PostgresStore,
    link::Columns,
    managed,
    own::{Own, patiently},
    read::{CALL, link_columns},
};
use crate::store::rows::{
    chat::owner,
    columns::Columns as _,
    ledger::{audited_call, audited_link, chain_end, entry_of_call},
    value,
};

impl PostgresStore {
    /// Lists the sessions of which any table has a row, in the order of their ids.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub async fn recorded_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let sql = "SELECT session FROM madang.sessions UNION SELECT session FROM madang.transitions \
                   UNION SELECT session FROM madang.calls ORDER BY session";
        let mut reader = self.0.own_reader().await?;
        let mut own = reader.own(&self.0.keys);
        let rows = own.query(sql);
        let rows = own.all(rows).await?;
        let sessions =
            rows.iter().map(|row| value::session(row.text("session")?)).collect::<Result<_, _>>();
        reader.give_back();
        sessions
    }

    /// Reads all that the store has about the calls of a session, at one moment, or `None` if it has
    /// nothing. Audit it with [`SessionLedger::audit`]. Disturbs no writer.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read. A row that can be read but makes no sense is part of
    /// the result.
    pub async fn session_ledger(
        &self,
        session: &SessionId,
    ) -> Result<Option<SessionLedger>, StoreError> {
        let mut reader = self.0.own_reader().await?;
        let mut own = reader.own(&self.0.keys);
        // Several queries see one moment.
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let begun = patiently(managed::begin(own.db, Some(begin))).await;
        begun.map_err(StoreError::unavailable)?;
        let ledger = read(&mut own, session).await?;
        patiently(managed::commit(own.db)).await.map_err(StoreError::unavailable)?;
        reader.give_back();
        Ok(ledger)
    }
}

/// The columns that repeat what the text of a link says.
const LINKS: &str = concat!(
    "SELECT ",
    link_columns!(),
    ", t.effect, t.result, t.by_user, t.digest, t.schema, t.expires_at, t.approval, t.rests_on, t.use_number, t.until, \
     t.uses, t.resource, t.has_arguments FROM madang.transitions AS t WHERE t.session = $1 ORDER BY t.position"
);

async fn read(own: &mut Own<'_>, session: &SessionId) -> Result<Option<SessionLedger>, StoreError> {
    let its = "SELECT chain_length, chain_head, user_id AS owner, opened_at, seal AS owner_seal \
               FROM madang.sessions WHERE session = $1";
    let its = own.query(its).bind(session.as_str());
    let its = own.all(its).await?;
    let end = its.first().map(chain_end).transpose()?;
    let damaged = |_| Damaged { what: "the row of the session".to_owned() };
    let owner = its.first().map(|row| owner(row).map_err(damaged));
    let links = own.query(LINKS).bind(session.as_str());
    let links = own.all(links).await?;
    let links: Vec<_> = links.iter().zip(1..).map(|(row, position)| link(row, position)).collect();
    let calls = own.query(&format!("{CALL} WHERE c.session = $1 ORDER BY c.number"));
    let calls = own.all(calls.bind(session.as_str())).await?;
    let calls: Vec<_> = calls.iter().map(audited_call).collect();
    let entries = "SELECT seq, call::text AS call FROM madang.messages WHERE session = $1 AND call IS NOT NULL";
    let entries = own.query(entries).bind(session.as_str());
    let entries = own.all(entries).await?;
    let entries: BTreeSet<_> = entries.iter().map(entry_of_call).collect::<Result<_, _>>()?;
    if end.is_none() && links.is_empty() && calls.is_empty() {
        return Ok(None);
    }
    let end = end.unwrap_or(ChainEnd::EMPTY);
    let session = session.clone();
    Ok(Some(SessionLedger { session, links, end, calls, owner, entries }))
}

/// Reads a link whose columns repeat what its text says.
fn link(row: &PgRow, position: i64) -> Result<Link, Damaged> {
    let link = audited_link(row, position)?;
    let damaged = || Damaged { what: format!("transition {position}") };
    let columns = Columns::of(&link.transition);
    if columns.is_of(row).unwrap_or(false) { Ok(link) } else { Err(damaged()) }
}

impl Columns {
    /// Returns whether a row has these columns.
    fn is_of(&self, row: &PgRow) -> Result<bool, StoreError> {
        let bytes = |name| row.maybe_bytes(name);
        let rests_on: Option<Uuid> = row.try_get("rests_on").map_err(StoreError::unavailable)?;
        let has_arguments: bool = row.try_get("has_arguments").map_err(StoreError::unavailable)?;
        Ok(row.maybe_text("effect")? == self.effect
            && row.maybe_text("result")? == self.result
            && row.maybe_text("by_user")? == self.by_user.as_deref()
            && bytes("digest")? == self.digest.as_deref()
            && bytes("schema")? == self.schema.as_deref()
            && row.maybe_integer("expires_at")? == self.expires_at
            && row.maybe_text("approval")? == self.approval
            && rests_on == self.rests_on
            && row.maybe_integer("use_number")? == self.use_number
            && row.maybe_integer("until")? == self.until
            && row.maybe_integer("uses")? == self.uses
            && bytes("resource")? == self.resource.as_deref()
            && has_arguments == self.has_arguments)
    }
}
