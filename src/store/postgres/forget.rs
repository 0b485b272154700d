//! Forgets a user: deletes the rows in one transaction, and then clears what is left of them in the
//! tables.

use std::collections::BTreeMap;

use madang_actors::{
    ledger::ErasedChain,
    port::{Forget, Forgotten, StoreError},
    protocol::{Digest, Timestamp, UserId},
};
use uuid::Uuid;

use super::{claim::Claim, error::Fenced, own::Own};
use crate::store::rows::{columns::Columns as _, ledger, value};

/// The sessions that are being erased, with the entries of their transcripts.
const SESSIONS: &str = "SELECT its.session, count(entry.call) AS calls, count(entry.content) AS messages \
    FROM madang.sessions AS its LEFT JOIN madang.messages AS entry ON entry.session = its.session \
    WHERE its.session IN (SELECT session FROM madang.erasing) GROUP BY its.session ORDER BY its.session";

/// The hashes of all links of these sessions.
const HASHES: &str = "SELECT session, hash FROM madang.transitions \
    WHERE session IN (SELECT session FROM madang.erasing) ORDER BY session, position";

/// Locks the user's row under the claim of this process.
const HELD: &str = "SELECT claim IS NOT DISTINCT FROM $2 AS is_held FROM madang.users WHERE user_id = $1 FOR UPDATE";

/// Allows the deletion of rows of the user's sessions while they are listed in `erasing`.
const ERASING: &str =
    "INSERT INTO madang.erasing SELECT session FROM madang.sessions WHERE user_id = $1";

/// All tables with rows of a session; a table comes before those it refers to.
const TABLES: [&str; 5] = ["calls", "messages", "turns", "transitions", "sessions"];

/// Clears the dead rows of all tables, so that later rows overwrite them.
pub(super) const VACUUM: &str = "VACUUM madang.calls, madang.messages, madang.turns, madang.transitions, madang.sessions, madang.users";

/// Deletes all rows of the user, and records the erased chains.
pub(super) async fn erase(
    own: &mut Own<'_>,
    claim: &Claim,
    order: &Forget,
) -> Result<Forgotten, StoreError> {
    let held = own.query(HELD).bind(order.user.as_str()).bind(claim.claim);
    if let Some(row) = own.one(held).await? {
        let is_held: bool = sqlx::Row::try_get(&row, "is_held").map_err(StoreError::unavailable)?;
        if !is_held {
            return Err(StoreError::unavailable(Fenced(None)));
        }
    }
    run(own, ERASING, Some(order)).await?;
    let mut forgotten = erase_listed(own, Some(&order.by), order.at).await?;
    run(own, "DELETE FROM madang.users WHERE user_id = $1", Some(order)).await?;
    for sql in &order.tables {
        let changed = run(own, sql, Some(order)).await?;
        // Rows are counted only for deletions; the other statements tidy an index.
        if sql.starts_with("DELETE") {
            forgotten.rows += changed;
        }
    }
    Ok(forgotten)
}

/// Deletes all rows of the sessions that are listed in `erasing`, and records their chains.
pub(super) async fn erase_listed(
    own: &mut Own<'_>,
    by: Option<&UserId>,
    at: Timestamp,
) -> Result<Forgotten, StoreError> {
    let mut forgotten = Forgotten::default();
    let mut hashes = hashes(own).await?;
    let sessions = own.query(SESSIONS);
    for session in &own.all(sessions).await? {
        let chain = ErasedChain {
            id: Uuid::now_v7(),
            by: by.cloned(),
            at,
            calls: session.number("calls")?,
            messages: session.number("messages")?,
            hashes: hashes.remove(session.text("session")?).unwrap_or_default(),
            seal: None,
        };
        forgotten.sessions += 1;
        forgotten.calls += chain.calls;
        forgotten.messages += chain.messages;
        forgotten.transitions += chain.hashes.len() as u64;
        let chain = chain.sealed(own.keys);
        record(own, &chain).await?;
    }
    for table in TABLES {
        let sql = format!(
            "DELETE FROM madang.{table} WHERE session IN (SELECT session FROM madang.erasing)"
        );
        run(own, &sql, None).await?;
    }
    run(own, "DELETE FROM madang.erasing", None).await?;
    Ok(forgotten)
}

async fn hashes(own: &mut Own<'_>) -> Result<BTreeMap<String, Vec<Digest>>, StoreError> {
    let links = own.query(HASHES);
    let mut hashes: BTreeMap<String, Vec<Digest>> = BTreeMap::new();
    for link in &own.all(links).await? {
        let hash = value::digest(link.bytes("hash")?)?;
        hashes.entry(link.text("session")?.to_owned()).or_default().push(hash);
    }
    Ok(hashes)
}

async fn record(own: &mut Own<'_>, chain: &ErasedChain) -> Result<(), StoreError> {
    let hashes: Vec<u8> = chain.hashes.iter().flat_map(|hash| *hash.bytes()).collect();
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let record = own
        .query(
            "INSERT INTO madang.erased (id, by_user, at, calls, messages, hashes, seal) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(chain.id)
        .bind(chain.by.as_ref().map_or("", UserId::as_str))
        .bind(chain.at.millis())
        .bind(count(chain.calls))
        .bind(count(chain.messages))
        .bind(hashes)
        .bind(chain.seal.map(String::from));
    own.run(record).await?;
    Ok(())
}

/// Runs a statement and returns the number of rows that it changed.
async fn run(own: &mut Own<'_>, sql: &str, of: Option<&Forget>) -> Result<u64, StoreError> {
    let mut query = own.query(sql);
    if let Some(order) = of {
        query = query.bind(order.user.as_str());
    }
    own.run(query).await
}

/// Reads the records of erased chains.
pub(super) async fn erased(own: &mut Own<'_>) -> Result<Vec<ErasedChain>, StoreError> {
    let chains = own.query(
        "SELECT id::text AS id, by_user, at, calls, messages, hashes, seal FROM madang.erased ORDER BY id",
    );
    own.all(chains).await?.iter().map(ledger::erased).collect()
}
