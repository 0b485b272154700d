//! Tests what a handler does to the transaction that it borrows.

use std::time::Duration;

use madang_actors::{
    port::{Store as _, StoreError},
    store::Keep,
};
use sqlx::Connection as _;
use tokio::time::timeout;

use super::support::{
    ENDED, NOTES_COUNT, PATIENCE, StoreFixture, db, needs_server, note, record, run, say,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_ends_the_transaction_is_not_recorded_and_the_next_one_is() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for (number, sql) in (1_u64..).zip([
        "ROLLBACK",
        "ROLLBACK; BEGIN",
        "ROLLBACK; BEGIN; SAVEPOINT mine",
        "ROLLBACK AND CHAIN",
        "PREPARE TRANSACTION 'mine'",
    ]) {
        let told = fixture.call(number, Keep::Keep, async |db| {
            note(db, number).await.unwrap();
            let _ = run(db, sql).await;
        });
        assert!(told.await.is_err(), "{sql}");
        assert_eq!(fixture.database.count(NOTES_COUNT).await, 0, "{sql}");
        assert_eq!(fixture.database.count(ENDED).await, 0, "{sql}");
        fixture.handle.write(say("s", number)).await.unwrap();
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_rolled_back_by_accident_writes_nothing_more() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let told = fixture.call(1, Keep::Keep, async |db| {
        run(db, "ROLLBACK").await.unwrap();
        let refused = note(db, 1).await.unwrap_err();
        assert!(refused.to_string().contains("read-only"), "{refused}");
    });
    assert!(told.await.is_err());
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_a_handler_begins_is_a_part_of_the_stores() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let ended = fixture.call(1, Keep::Keep, async |db| {
        let mut kept = db.begin().await.unwrap();
        note(&mut kept, 1).await.unwrap();
        kept.commit().await.unwrap();
        let mut dropped = db.begin().await.unwrap();
        note(&mut dropped, 2).await.unwrap();
        drop(dropped);
        note(db, 4).await.unwrap();
    });
    ended.await.unwrap();
    assert_eq!(fixture.database.count("SELECT sum(call)::bigint FROM notes").await, 1 + 4);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_a_handler_leaves_open_is_not_recorded() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let told = fixture.call(1, Keep::Keep, async |db| {
        let mut left = db.begin().await.unwrap();
        note(&mut left, 1).await.unwrap();
        std::mem::forget(left);
    });
    assert!(told.await.is_err());
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    assert_eq!(fixture.database.count(ENDED).await, 0);
    fixture.handle.write(say("s", 2)).await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_finds_no_statement_of_the_store() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    // The connection has written, and was not tidied since.
    fixture.chat("s").await;
    let ended = fixture.call(1, Keep::Keep, async |db| {
        let named: Vec<String> = sqlx::query_scalar("SELECT statement FROM pg_prepared_statements")
            .fetch_all(db)
            .await
            .unwrap();
        let foreign: Vec<_> = named.iter().filter(|sql| sql.contains("madang.")).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
    });
    ended.await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_handler_leaves_on_the_connection_is_gone_for_the_next() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let ended = fixture.call(1, Keep::Keep, async |db| {
        run(db, "SET search_path = nowhere; SET statement_timeout = 7; SELECT pg_advisory_lock(9); LISTEN mine").await.unwrap();
    });
    ended.await.unwrap();
    let ended = fixture.call(2, Keep::Keep, async |db| {
        let path: String = sqlx::query_scalar("SHOW search_path").fetch_one(&mut *db).await.unwrap();
        let timeout: String = sqlx::query_scalar("SHOW statement_timeout").fetch_one(&mut *db).await.unwrap();
        assert_eq!((path.as_str(), timeout.as_str()), ("\"$user\", public", "10s"));
        let left = "SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) \
                    + (SELECT count(*) FROM pg_listening_channels())";
        assert_eq!(sqlx::query_scalar::<_, i64>(left).fetch_one(db).await.unwrap(), 0);
    });
    ended.await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_handler_sets_is_not_set_for_the_record_and_the_commit() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let asks = "CREATE FUNCTION asks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
        IF current_setting('synchronous_commit') <> 'on' OR current_setting('statement_timeout') <> '10s' \
        THEN RAISE EXCEPTION 'so it was set'; END IF; RETURN NULL; END $$; \
        CREATE CONSTRAINT TRIGGER asks AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED \
        FOR EACH ROW EXECUTE FUNCTION asks()";
    fixture.database.says(asks).await.unwrap();
    let ended = fixture.call(1, Keep::Keep, async |db| {
        run(db, "SET synchronous_commit = off; SET statement_timeout = 900; SET search_path = nowhere, public").await.unwrap();
        note(db, 1).await.unwrap();
    });
    ended.await.unwrap();
    let mut lease = fixture.lease().await;
    run(db(&mut lease), "SET synchronous_commit = off").await.unwrap();
    note(db(&mut lease), 2).await.unwrap();
    lease.end(Keep::Keep, Vec::new()).await.expect("without a record, too");
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_tool_cannot_write_and_leaves_its_connection_usable() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    for _ in 0..6 {
        let mut reader = fixture.store.reader().await.unwrap();
        let db: &mut sqlx::PgConnection = reader.connection().downcast_mut().unwrap();
        assert!(note(db, 1).await.is_err());
        let sleeps = sqlx::query("SELECT pg_sleep(30)").execute(&mut *db);
        let _ = timeout(Duration::from_millis(5), sleeps).await;
    }
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_holds_no_row_of_the_store_while_its_handler_runs() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let written = fixture.handle.begin_write(say("s", 1));
    let mut lease = fixture.lease().await;
    note(db(&mut lease), 1).await.unwrap();
    let written = timeout(PATIENCE, written).await.expect("it does not wait for the handler");
    written.unwrap();
    fixture
        .database
        .says("SELECT 1 FROM madang.users, madang.sessions FOR UPDATE NOWAIT")
        .await
        .unwrap();
    lease.end(Keep::Keep, record("s", 2)).await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undone_handlers_end_is_recorded() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.call(1, Keep::Undo, async |db| note(db, 1).await.unwrap()).await.unwrap();
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    assert_eq!(fixture.database.count(ENDED).await, 1);
    let refused = fixture.call(1, Keep::Keep, async |db| note(db, 1).await.unwrap()).await;
    assert!(
        matches!(refused, Err(StoreError::Illegal(_) | StoreError::Refused { .. })),
        "{refused:?}"
    );
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0, "a refused record undoes the writes");
    fixture.close().await;
}
