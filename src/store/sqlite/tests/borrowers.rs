//! Tests handlers that end or break the transaction they were lent, and their neighbours.

use std::time::Duration;

use madang_actors::{port::StoreError, store::Keep};
use sqlx::{Connection, SqliteConnection};

use super::support::{StoreFixture, db, note, record, say};

const NOTES: &str = "SELECT count(*) FROM notes";
const CALLS: &str = "SELECT count(*) FROM madang_calls";
const MESSAGES: &str = "SELECT count(*) FROM madang_messages WHERE content IS NOT NULL";

/// Lends the transaction to a handler that breaks it. The handler loses its writes and learns of
/// it. The writes before and behind it in the group are kept, and so is the next lease.
async fn spoils_no_other_job(
    keep: Keep,
    handler: impl AsyncFnOnce(&mut SqliteConnection),
) -> StoreFixture {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    spoils_no_other_job_in(fixture, keep, handler).await
}

async fn spoils_no_other_job_in(
    fixture: StoreFixture,
    keep: Keep,
    handler: impl AsyncFnOnce(&mut SqliteConnection),
) -> StoreFixture {
    let before = fixture.handle.begin_write(say("s", 1));
    let lease = fixture.handle.lease("broken".into());
    let behind = fixture.handle.begin_write(say("s", 2));
    let mut lease = lease.await.unwrap();
    handler(db(&mut lease)).await;
    let told = lease.end(keep, record("s", 3)).await;
    before.await.unwrap();
    behind.await.unwrap();
    match keep {
        Keep::Keep => assert!(
            matches!(told, Err(StoreError::Unavailable { .. } | StoreError::Refused { .. })),
            "{told:?}"
        ),
        Keep::Undo => told.expect("the record of an undone call is written all the same"),
    }
    assert_eq!((fixture.count(NOTES).await, fixture.count(MESSAGES).await), (0, 2));
    assert_eq!(fixture.count(CALLS).await, i64::from(keep == Keep::Undo));

    fixture.call(4, Keep::Keep, async |db| note(db, 4).await.unwrap()).await.unwrap();
    assert_eq!(fixture.count(NOTES).await, 1);
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_handlers_rows_and_record_are_there_together() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.call(1, Keep::Keep, async |db| note(db, 1).await.unwrap()).await.unwrap();
    fixture.call(2, Keep::Undo, async |db| note(db, 2).await.unwrap()).await.unwrap();
    assert_eq!((fixture.count(NOTES).await, fixture.count(CALLS).await), (1, 2));

    let again = fixture.call(1, Keep::Keep, async |db| note(db, 3).await.unwrap()).await;
    assert!(
        matches!(again, Err(StoreError::Illegal(_))),
        "the ledger has the call's end already: {again:?}"
    );
    assert_eq!(fixture.count(NOTES).await, 1, "the handler's rows go with the refused record");
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handlers_own_begin_and_commit_are_refused_and_harm_no_other_job() {
    for (keep, notes) in [(Keep::Keep, 1), (Keep::Undo, 0)] {
        let fixture = StoreFixture::new().await;
        fixture.chat("s").await;
        let told = fixture.call(1, keep, async |db| {
            note(db, 1).await.unwrap();
            for control in ["COMMIT", "END", "BEGIN", "commit transaction"] {
                let refused = sqlx::query(control).execute(&mut *db).await.unwrap_err();
                assert!(refused.to_string().contains("not authorized"), "{control}: {refused}");
            }
        });
        told.await.unwrap();
        assert_eq!(fixture.count(NOTES).await, notes);
        fixture.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handlers_own_rollback_is_noticed_and_nothing_of_it_is_kept() {
    for keep in [Keep::Keep, Keep::Undo] {
        let fixture = spoils_no_other_job(keep, async |db| {
            note(db, 1).await.unwrap();
            sqlx::query("ROLLBACK").execute(&mut *db).await.unwrap();
            note(db, 2).await.unwrap();
        });
        fixture.await.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_a_handler_put_in_the_place_of_ours_is_not_taken_for_it() {
    let fixture = spoils_no_other_job(Keep::Keep, async |db| {
        sqlx::query("ROLLBACK").execute(&mut *db).await.unwrap();
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *db).await.unwrap_err();
        note(db, 1).await.unwrap();
    });
    fixture.await.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlxs_own_transaction_inside_a_lease_fails_aloud() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let told = fixture.call(1, Keep::Keep, async |db| {
        assert!(db.begin().await.is_err());
        note(db, 1).await.unwrap();
    });
    told.await.unwrap();
    assert_eq!(fixture.count(NOTES).await, 1, "the lease is unharmed");

    // Inside a statement's transaction it gets a savepoint, and its drop ends the whole
    // transaction.
    let fixture = spoils_no_other_job(Keep::Keep, async |db| {
        let mut inner = db.begin_with("SAVEPOINT mine").await.unwrap();
        note(&mut inner, 1).await.unwrap();
        drop(inner);
    });
    fixture.await.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handlers_own_savepoints_are_welcome() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let told = fixture.call(1, Keep::Keep, async |db| {
        for (call, end) in [(1, "RELEASE mine"), (2, "ROLLBACK TO mine"), (3, "SELECT 'left open'")]
        {
            sqlx::query("SAVEPOINT mine").execute(&mut *db).await.unwrap();
            note(db, call).await.unwrap();
            sqlx::query(end).execute(&mut *db).await.unwrap();
        }
    });
    told.await.unwrap();
    assert_eq!(fixture.count(NOTES).await, 2);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_constraint_that_a_handler_deferred_to_the_commit_costs_no_other_job() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let tables = "CREATE TABLE owners (id INTEGER PRIMARY KEY); \
        CREATE TABLE pets (owner INTEGER REFERENCES owners (id) DEFERRABLE INITIALLY DEFERRED)";
    sqlx::query(tables).execute(&mut fixture.other_program().await).await.unwrap();
    let fixture = spoils_no_other_job_in(fixture, Keep::Keep, async |db| {
        sqlx::query("INSERT INTO pets VALUES (1)").execute(db).await.unwrap();
    });
    fixture.await.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_without_end_is_cut_off_with_its_handler() {
    for endless in [
        "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
        "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) INSERT INTO notes (call) SELECT i FROM n",
    ] {
        let fixture = spoils_no_other_job(Keep::Undo, async |db| {
            let running = sqlx::query(endless).execute(db);
            assert!(tokio::time::timeout(Duration::from_millis(100), running).await.is_err());
        });
        let fixture = tokio::time::timeout(Duration::from_secs(10), fixture).await;
        fixture.expect("undone soon after its future was dropped").close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_and_nothing_of_the_group_is_half_written() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.limit_pages(4).await;
    let fixture = spoils_no_other_job_in(fixture, Keep::Keep, async |db| {
        note(db, 1).await.unwrap();
        let large =
            sqlx::query("INSERT INTO notes (call, text) VALUES (2, $1)").bind("x".repeat(400_000));
        assert!(large.execute(&mut *db).await.unwrap_err().to_string().contains("full"));
        // SQLite may have rolled back by itself; a handler that goes on must not commit alone.
        let _ = note(db, 3).await;
        sqlx::query("ROLLBACK").execute(&mut *db).await.unwrap_or_default();
    });
    fixture.await.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_for_plain_writes_refuses_them_and_takes_them_again_later() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let large = |seq| {
        let mut writes = say("s", seq);
        if let madang_actors::port::Write::Message { message, .. } = &mut writes[0] {
            message.content = madang_actors::protocol::Content::user("x".repeat(100_000));
        }
        writes
    };
    fixture.limit_pages(4).await;
    let told = fixture.handle.write(large(2)).await;
    assert!(matches!(told, Err(StoreError::Unavailable { .. })), "{told:?}");
    // The broken group closed its connection, and with it the limit.
    fixture.handle.write(large(2)).await.unwrap();
    assert_eq!(fixture.count(MESSAGES).await, 1);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_cannot_write_whatever_it_says() {
    use madang_actors::port::Store;
    let fixture = StoreFixture::new().await;
    let mut reader = fixture.store.reader().await.unwrap();
    let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
    assert!(note(db, 1).await.is_err());
    sqlx::query("PRAGMA query_only = OFF").execute(&mut *db).await.unwrap_err();
    assert!(note(db, 1).await.is_err());
    drop(reader);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_was_left_inside_a_transaction_sees_the_present_again() {
    use madang_actors::port::Store;
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for _ in 0..8 {
        let mut reader = fixture.store.reader().await.unwrap();
        let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
        sqlx::query("BEGIN; SELECT count(*) FROM notes").execute(&mut *db).await.unwrap();
    }
    fixture.call(1, Keep::Keep, async |db| note(db, 1).await.unwrap()).await.unwrap();
    for _ in 0..8 {
        assert_eq!(fixture.count(NOTES).await, 1);
    }
    fixture.close().await;
}
