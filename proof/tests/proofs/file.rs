//! Tests of the audit of a file: it finds a step that is missing, and takes a file that was half
//! made for none.

use std::path::Path;

use madang::store::SqliteStore;
use madang_proof::{
    audit::{Counter, DATABASE, Moment, audit_file},
    dice::Dice,
    oracle::{Oracle, Witness},
    workload::{EFFECTS, Fate, LifePlan, Scene, SessionPlan},
};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection, sqlite::SqliteConnectOptions};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_is_taken_out_of_the_chain_is_found_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(DATABASE);
    let store = SqliteStore::open(&path).migrations("proof", &EFFECTS).await.unwrap();
    let sessions = SessionPlan::draw(&mut Dice::new(1), 2);
    let scene = Scene::hurried(sessions, Fate::real(1, None), Witness::default());
    let life = scene.begin(store).await.unwrap();
    assert!(life.visits(LifePlan::turns(&mut Dice::new(1), 1, 2, 6).visits).await);
    life.rests().await;
    assert!(life.shut_down().await);
    let known = scene.witness.oracle().clone();
    let audit = || audit_file(folder.path(), &scene.sessions, &known, Moment::AtRest);
    let findings = audit().await;
    assert!(findings.is_clean(), "{findings:#?}");

    let options = SqliteConnectOptions::new().filename(&path);
    let mut db = SqliteConnection::connect_with(&options).await.unwrap();
    // Triggers keep the ledger append-only, but a program with the file can drop them for a moment.
    let triggers = "SELECT name, sql FROM sqlite_schema \
                    WHERE type = 'trigger' AND tbl_name = 'madang_transitions'";
    let triggers: Vec<(String, String)> =
        sqlx::query_as(triggers).fetch_all(&mut db).await.unwrap();
    for (name, _) in &triggers {
        let drop = AssertSqlSafe(format!("DROP TRIGGER {name}"));
        sqlx::query(drop).execute(&mut db).await.unwrap();
    }
    let third = "DELETE FROM madang_transitions WHERE position = 3";
    assert!(sqlx::query(third).execute(&mut db).await.unwrap().rows_affected() > 0);
    for (_, sql) in triggers {
        sqlx::query(AssertSqlSafe(sql)).execute(&mut db).await.unwrap();
    }
    db.close().await.unwrap();
    let findings = audit().await;
    let is_of_a_chain = |what: &str| what.starts_with("chat ");
    assert!(findings.of(Counter::Damaged).any(is_of_a_chain), "{findings:#?}");
}

/// What a process leaves that dies while it makes the file: half a transaction, and a journal to
/// undo it. Only a connection that may write can read such a file.
#[tokio::test]
async fn a_file_that_was_half_made_is_rolled_back_and_has_promised_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, half) = (folder.path().join(DATABASE), folder.path().join("half.db"));
    let options = SqliteConnectOptions::new().filename(&half).create_if_missing(true);
    let mut db = SqliteConnection::connect_with(&options).await.unwrap();
    // With a cache of one page, pages are written before the end.
    let fills = "CREATE TABLE a (b); PRAGMA cache_size = 1; BEGIN; WITH RECURSIVE n (i) AS (VALUES (1) \
        UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO a SELECT randomblob(4000) FROM n";
    sqlx::raw_sql(fills).execute(&mut db).await.unwrap();
    for end in ["", "-journal"] {
        let name = |path: &Path| format!("{}{end}", path.display());
        std::fs::copy(name(&half), name(&path)).unwrap();
    }
    let found = audit_file(folder.path(), &[], &Oracle::default(), Moment::AfterDeath).await;
    assert!(found.is_clean(), "{found:?}");
}
