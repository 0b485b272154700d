//! Audits a database in a file: opens it to read, so that the next process finds it unchanged.

use std::{error::Error, path::Path};

use madang::store::{SqliteStore, Store};
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{
    audit,
    compare::compare,
    facts::Facts,
    findings::{Counter, Findings},
    moment::Moment,
};
use crate::{
    oracle::Oracle,
    workload::{EffectRow, SessionPlan},
};

/// The name of the database in the folder of a run.
pub const DATABASE: &str = "proof.db";

/// Audits the database in this folder. Facts that the last process reported without storing them
/// come from the oracle.
pub async fn audit_file(
    folder: &Path,
    sessions: &[SessionPlan],
    oracle: &Oracle,
    moment: Moment,
) -> Findings {
    let mut findings = Findings::default();
    let path = folder.join(DATABASE);
    if let Err(error) = read(&path, sessions, oracle, moment, &mut findings).await {
        let cause = error.source().map_or_else(String::new, ToString::to_string);
        findings.find(Counter::Damaged, format!("{error}: {cause}"));
    }
    findings
}

async fn read(
    path: &Path,
    sessions: &[SessionPlan],
    oracle: &Oracle,
    moment: Moment,
    findings: &mut Findings,
) -> Result<(), Box<dyn Error>> {
    let effects = if path.exists() { effects(path, findings).await } else { Ok(None) };
    let effects = match effects {
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(HOT_JOURNAL) => {
            roll_back(path).await?;
            self::effects(path, findings).await?
        }
        effects => effects?,
    };
    let Some(effects) = effects else {
        // The tables of tools are made last. A process that dies before has made no promise yet, or
        // the oracle knows of it.
        findings.add(oracle.findings.clone());
        compare(&Facts::default(), oracle, moment, findings);
        return Ok(());
    };
    let store = SqliteStore::open_read_only(path).await?;
    findings.add(audit(&store, effects, sessions, oracle, moment).await);
    store.close().await;
    Ok(())
}

/// A process died while it made the file, before the file had a log (`SQLITE_READONLY_ROLLBACK`).
/// Only a connection that may write can read it again.
const HOT_JOURNAL: &str = "776";

/// Undoes what the dead process had half made, as the next process would.
async fn roll_back(path: &Path) -> sqlx::Result<()> {
    let options = SqliteConnectOptions::new().filename(path);
    let mut db = SqliteConnection::connect_with(&options).await?;
    sqlx::query("SELECT count(*) FROM sqlite_schema").fetch_one(&mut db).await?;
    db.close().await
}

/// Reads the effects, and checks the file with SQLite; `None` before the table of effects exists.
async fn effects(path: &Path, findings: &mut Findings) -> sqlx::Result<Option<Vec<EffectRow>>> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut db = SqliteConnection::connect_with(&options).await?;
    for check in ["PRAGMA integrity_check", "PRAGMA foreign_key_check"] {
        for row in sqlx::query(check).fetch_all(&mut db).await? {
            let says: sqlx::Result<String> = sqlx::Row::try_get(&row, 0);
            let says = says.unwrap_or_else(|error| error.to_string());
            if says != "ok" {
                findings.find(Counter::Damaged, format!("{check}: {says}"));
            }
        }
    }
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'proof_effects'";
    let has_table = sqlx::query_scalar::<_, i64>(tables).fetch_one(&mut db).await? > 0;
    let rows = "SELECT token, act, part, call FROM proof_effects ORDER BY id";
    let rows = if has_table { Some(sqlx::query_as(rows).fetch_all(&mut db).await?) } else { None };
    db.close().await?;
    Ok(rows)
}
