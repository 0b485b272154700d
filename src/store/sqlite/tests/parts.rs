//! Tests that a part of a transaction is independent of the parts after it.

use std::task::{Context, Waker};

use madang_actors::{
    port::{Store, StoreError, Write},
    store::Keep,
};
use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};

use super::support::{StoreFixture, note, record, say, session};

const MESSAGES: &str = "SELECT count(*) FROM madang_messages WHERE content IS NOT NULL";

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_cannot_be_read_costs_its_own_call_only() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.call(1, Keep::Keep, async |db| note(db, 1).await.unwrap()).await.unwrap();
    let path = fixture.folder.path().join("store.db");
    let mut own = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    let by_hand =
        "DROP TRIGGER madang_calls_follow_the_ledger; UPDATE madang_calls SET outcome = 'no JSON'";
    sqlx::query(by_hand).execute(&mut own).await.unwrap();

    let Write::Call { call, .. } = record("s", 1)[0] else { panic!("a record is made of steps") };
    let mut transaction = fixture.store.begin().await.unwrap();
    for writes in [say("s", 2), say("s", 3)] {
        transaction.savepoint(Some((&session("s"), call))).await.unwrap();
        transaction.write(&writes).await.unwrap();
        transaction.keep().await.unwrap();
    }
    transaction.savepoint(Some((&session("s"), call))).await.unwrap();
    let own_step = transaction.write(&record("s", 1)[1..2]).await;
    assert!(matches!(own_step, Err(StoreError::Refused { .. })), "{own_step:?}");
    transaction.undo().await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(fixture.count(MESSAGES).await, 2);
    fixture.close().await;
}

/// Takes its time, and delays the statements behind it in the queue.
const SLOW: &str = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) \
    SELECT max(i) FROM n";

#[tokio::test(flavor = "multi_thread")]
async fn what_a_borrower_left_in_the_queue_is_waited_for_before_its_part_is_kept() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for writes in [None, Some([])] {
        let mut transaction = fixture.store.begin().await.unwrap();
        transaction.savepoint(None).await.unwrap();
        let db: &mut SqliteConnection = transaction.connection().downcast_mut().unwrap();
        note(db, 1).await.unwrap();
        for sql in [SLOW, "ROLLBACK"] {
            let mut left = Box::pin(sqlx::query(sql).execute(&mut *db));
            let polled = left.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending(), "{sql}");
        }
        if let Some(writes) = writes {
            transaction.write(&writes).await.unwrap();
        }
        let kept = transaction.keep().await;
        assert!(matches!(kept, Err(StoreError::Unavailable { .. })), "{kept:?}");
        drop(transaction);
        assert_eq!(fixture.count("SELECT count(*) FROM notes").await, 0);
    }
    fixture.close().await;
}
