//! Forgets a user: deletes the rows in one transaction, then rewrites the files without the bytes.

use std::collections::BTreeMap;

use madang_actors::{
    ledger::ErasedChain,
    port::{Forget, ForgetError, Forgotten, StoreError},
    protocol::{Digest, Timestamp, UserId},
};
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use uuid::Uuid;

use super::{own::Own, read::all};
use crate::store::rows::{columns::Columns, ledger, value};

/// The sessions that are being erased, with the entries of their transcripts.
const SESSIONS: &str = "SELECT its.session, count(entry.call) AS calls, count(entry.content) AS messages \
    FROM madang_sessions AS its LEFT JOIN madang_messages AS entry ON entry.session = its.session \
    WHERE its.session IN (SELECT session FROM madang_erasing) GROUP BY its.session ORDER BY its.session";

/// The hashes of all links of these sessions.
const HASHES: &str = "SELECT session, hash FROM madang_transitions \
    WHERE session IN (SELECT session FROM madang_erasing) ORDER BY session, position";

/// Allows the deletion of rows of the user's sessions while they are listed in `madang_erasing`.
const ERASING: &str =
    "INSERT INTO madang_erasing SELECT session FROM madang_sessions WHERE user = $1";

/// All tables with rows of a session; a table comes before those it refers to.
const TABLES: [&str; 5] = ["calls", "messages", "turns", "transitions", "sessions"];

/// Asks whether `ANALYZE` left samples of keys, which may show names.
const HAS_SAMPLES: &str = "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat4'";

/// Deletes all rows of the user, and records the erased chains.
pub(super) async fn erase(mut own: Own<'_>, order: &Forget) -> Result<Forgotten, StoreError> {
    run(&mut own, ERASING, Some(order)).await?;
    let mut forgotten = erase_listed(&mut own, Some(&order.by), order.at).await?;
    run(&mut own, "DELETE FROM madang_stored WHERE user = $1", Some(order)).await?;
    for sql in &order.tables {
        let changed = run(&mut own, sql, Some(order)).await?;
        // Rows are counted only for deletions; the other statements tidy an index.
        if sql.starts_with("DELETE") {
            forgotten.rows += changed;
        }
    }
    Ok(forgotten)
}

/// Deletes all rows of the sessions that are listed in `madang_erasing`, and records their chains.
pub(super) async fn erase_listed(
    own: &mut Own<'_>,
    by: Option<&UserId>,
    at: Timestamp,
) -> Result<Forgotten, StoreError> {
    let mut forgotten = Forgotten::default();
    let mut hashes = hashes(own).await?;
    let sessions = sqlx::query(own.sql(SESSIONS));
    for session in &all(own.db, sessions).await? {
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
            "DELETE FROM madang_{table} WHERE session IN (SELECT session FROM madang_erasing)"
        );
        run(own, &sql, None).await?;
    }
    run(own, "DELETE FROM madang_erasing", None).await?;
    let has_samples = sqlx::query_scalar(own.sql(HAS_SAMPLES)).fetch_one(&mut *own.db).await;
    if has_samples.map_err(StoreError::unavailable)? {
        run(own, "DELETE FROM sqlite_stat4", None).await?;
    }
    Ok(forgotten)
}

async fn hashes(own: &mut Own<'_>) -> Result<BTreeMap<String, Vec<Digest>>, StoreError> {
    let links = sqlx::query(own.sql(HASHES));
    let mut hashes: BTreeMap<String, Vec<Digest>> = BTreeMap::new();
    for link in &all(own.db, links).await? {
        let hash = value::digest(link.bytes("hash")?)?;
        hashes.entry(link.text("session")?.to_owned()).or_default().push(hash);
    }
    Ok(hashes)
}

async fn record(own: &mut Own<'_>, chain: &ErasedChain) -> Result<(), StoreError> {
    let hashes: Vec<u8> = chain.hashes.iter().flat_map(|hash| *hash.bytes()).collect();
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let record = "INSERT INTO madang_erased (id, by_user, at, calls, messages, hashes, seal) \
                  VALUES ($1, $2, $3, $4, $5, $6, $7)";
    sqlx::query(own.sql(record))
        .bind(chain.id.to_string())
        .bind(chain.by.as_ref().map_or("", UserId::as_str))
        .bind(chain.at.millis())
        .bind(count(chain.calls))
        .bind(count(chain.messages))
        .bind(hashes)
        .bind(chain.seal.map(String::from))
        .execute(&mut *own.db)
        .await
        .map_err(StoreError::unavailable)?;
    Ok(())
}

/// Runs a statement and returns the number of rows that it changed.
async fn run(own: &mut Own<'_>, sql: &str, of: Option<&Forget>) -> Result<u64, StoreError> {
    let mut query = sqlx::query(own.sql(sql));
    if let Some(order) = of {
        query = query.bind(order.user.as_str());
    }
    let done = query.execute(&mut *own.db).await.map_err(StoreError::unavailable)?;
    Ok(done.rows_affected())
}

/// Reads the records of erased chains.
pub(super) async fn erased(db: &mut SqliteConnection) -> Result<Vec<ErasedChain>, StoreError> {
    let chains = sqlx::query("SELECT * FROM madang_erased ORDER BY id");
    all(db, chains).await?.iter().map(ledger::erased).collect()
}

/// Rewrites the database and empties the log. SQLite leaves deleted bytes in free pages, and older
/// pages in the log. Uses a connection of its own, without the hooks that refuse a commit.
pub(super) async fn rewrite(options: &SqliteConnectOptions) -> Result<(), ForgetError> {
    // The copy may be larger than the memory.
    let options = options.clone().pragma("temp_store", "file");
    let mut db = options.connect().await.map_err(not_rewritten)?;
    let done = async {
        sqlx::query("VACUUM").execute(&mut db).await?;
        sqlx::query_scalar::<_, i64>("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut db).await
    };
    let is_busy = done.await.map_err(not_rewritten)?;
    db.close().await.map_err(not_rewritten)?;
    if is_busy == 0 { Ok(()) } else { Err(ForgetError::Remains) }
}

/// Reports that the rows are gone but the files still hold the bytes.
pub(super) fn not_rewritten(cause: sqlx::Error) -> ForgetError {
    ForgetError::NotRewritten(StoreError::unavailable(cause))
}
