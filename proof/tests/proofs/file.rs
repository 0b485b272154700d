//! Tests that the audit finds a step that is missing in a changed file.

use std::sync::Arc;

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
    let store = SqliteStore::options(&path).migrations("proof", &EFFECTS).open().await.unwrap();
    let scene = Scene {
        sessions: SessionPlan::draw(&mut Dice::new(1), 2).into(),
        fate: Fate::real(1, None),
        witness: Witness::new(Oracle::default(), Arc::new(|_| ())),
        mistake: None,
        limits: Scene::hurried(),
    };
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
