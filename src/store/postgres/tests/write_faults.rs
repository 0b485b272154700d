//! Tests commits that fail, commits whose result is unknown, and texts that PostgreSQL cannot keep.

use madang_actors::{
    ledger::{Ended, Proposal, Transition},
    port::{LedgerFilter, Store as _, StoreError},
    protocol::ToolOutcome,
    store::Keep,
};
use serde_json::json;
use sqlx::Connection as _;

use super::{
    super::error::of_commit,
    proxy::Proxy,
    support::{
        Database, ENDED, KEYS, NOTES_COUNT, PATIENCE, StoreFixture, call, connect, ended,
        needs_server, note, opening, proposal, run, say, server, session, step,
    },
};
use crate::store::PostgresStore;

#[tokio::test(flavor = "multi_thread")]
async fn a_constraint_that_fails_at_the_commit_undoes_the_handlers_writes_alone() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let deferred = "CREATE TABLE books (id bigint PRIMARY KEY); \
                    ALTER TABLE notes ADD FOREIGN KEY (call) REFERENCES books DEFERRABLE INITIALLY DEFERRED";
    fixture.database.says(deferred).await.unwrap();
    let told = fixture.call(1, Keep::Keep, async |db| note(db, 1).await.unwrap()).await;
    assert!(matches!(told, Err(StoreError::Unavailable { .. })), "nothing was written: {told:?}");
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    assert_eq!(fixture.database.count(ENDED).await, 0);
    fixture.handle.write(say("s", 1)).await.expect("the next one is written");
    fixture.close().await;
}

/// Lets each commit of a message wait until this connection lets it pass.
const WAITS: &str = "CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS \
    $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$; \
    CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON madang.messages DEFERRABLE INITIALLY DEFERRED \
    FOR EACH ROW EXECUTE FUNCTION waits()";

#[tokio::test(flavor = "multi_thread")]
async fn nobody_reads_before_a_commit_whose_end_is_not_known_has_come_to_it() {
    needs_server!();
    let database = Database::new().await;
    let proxy = Proxy::new().await;
    let store = PostgresStore::options(proxy.url(&database)).seal_keys(KEYS.clone());
    let store = store.open().await.unwrap();
    let mut transaction = store.begin().await.unwrap();
    transaction.write(&opening("s", "kim")).await.unwrap();
    transaction.commit().await.unwrap();
    database.says(WAITS).await.unwrap();

    let mut gate = database.other_program().await;
    run(&mut gate, "SELECT pg_advisory_lock(7)").await.unwrap();
    let mut transaction = store.begin().await.unwrap();
    transaction.write(&say("s", 1)).await.unwrap();
    let commit = tokio::spawn(transaction.commit());
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND wait_event_type = 'Lock' AND query LIKE 'COMMIT%'";
    database.until(waiting).await;
    proxy.cut();
    let told = commit.await.unwrap();
    assert!(matches!(told, Err(StoreError::Unknown { .. })), "{told:?}");

    let reader = store.clone();
    let read = tokio::spawn(async move { reader.session(&session("s")).await });
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                 AND wait_event_type = 'Lock' AND query LIKE '%FOR SHARE%'";
    database.until(waits).await;
    run(&mut gate, "SELECT pg_advisory_unlock(7)").await.unwrap();
    let stored = tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!(stored.messages.len(), 1, "it was committed");
    proxy.let_go();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_not_answered_is_not_known() {
    needs_server!();
    let not_answered = sqlx::Error::Io(std::io::ErrorKind::UnexpectedEof.into());
    assert!(matches!(of_commit(not_answered), StoreError::Unknown { .. }));
    let mut db = connect(&server()).await;
    for (code, is_known) in [
        ("57P01", false),
        ("57P02", false),
        ("08006", false),
        ("40P01", false),
        ("23503", true),
        ("P0001", true),
    ] {
        let raise =
            format!("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}', MESSAGE = 'no'; END $$");
        let told = of_commit(run(&mut db, &raise).await.unwrap_err());
        assert_eq!(matches!(told, StoreError::Unavailable { .. }), is_known, "{code}: {told:?}");
    }
    let ended = run(&mut db, "SELECT pg_terminate_backend(pg_backend_pid())").await.unwrap_err();
    assert!(matches!(of_commit(ended), StoreError::Unknown { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_with_a_zero_byte_is_kept_and_breaks_no_other() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let zero = "a\0b";
    let proposed = Proposal {
        name: zero.into(),
        arguments: zero.into(),
        opaque: Some(zero.into()),
        ..proposal(1)
    };
    let end = Ended {
        arguments: Some(json!({ zero: zero }).into()),
        outcome: ToolOutcome::ok(json!(zero)),
        effect: madang_actors::protocol::Effect::None,
        ..ended()
    };
    let steps =
        vec![step("s", 1, Transition::Proposed(proposed)), step("s", 1, Transition::Ended(end))];
    fixture.handle.write(steps).await.unwrap();
    let rows = fixture.store.calls(&LedgerFilter::call(call(1))).await.unwrap();
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((&*row.name, &*row.raw_arguments, row.opaque.as_deref()), (zero, zero, Some(zero)));
    assert_eq!(
        (&*row.arguments, &row.outcome),
        (&json!({ zero: zero }), &Some(ToolOutcome::ok(json!(zero))))
    );
    let ledger = fixture.store.session_ledger(&session("s")).await.unwrap().unwrap();
    ledger.audit(None, Some(fixture.store.keys())).unwrap();
    fixture.handle.write(say("s", 2)).await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_after_a_lost_connection_is_answered_by_another() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    assert!(fixture.store.session(&session("s")).await.unwrap().is_some());
    let ends = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
    fixture.database.count(ends).await;
    assert!(fixture.store.session(&session("s")).await.unwrap().is_some());
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_read_leaves_nothing_running() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let mut other = fixture.database.other_program().await;
    run(&mut other, "BEGIN; LOCK TABLE madang.messages").await.unwrap();
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    for _ in 0..4 {
        let id = session("s");
        let mut read = Box::pin(fixture.store.session(&id));
        tokio::select! {
            _ = &mut read => panic!("the table is locked"),
            () = fixture.database.until(waits) => {}
        }
        drop(read);
        let none = "SELECT (NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'))::int::bigint";
        fixture.database.until(none).await;
    }
    run(&mut other, "ROLLBACK").await.unwrap();
    other.close().await.unwrap();
    assert!(fixture.store.session(&session("s")).await.unwrap().is_some());
    fixture.close().await;
}
