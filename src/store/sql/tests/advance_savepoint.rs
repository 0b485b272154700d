//! A part whose end goes to SQLite together with the beginning of the next: what stands behind it changes nothing of it.

use std::task::{Context, Waker};

use madang_actors::{
    port::{CallKey, Store, StoreError, Write},
    store::Keep,
};
use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};

use super::support::{StoreFixture, note, record, say};

const MESSAGES: &str = "SELECT count(*) FROM madang_messages WHERE content IS NOT NULL";

/// A call of session s that has ended, as the key under which it is found.
async fn ended(fixture: &StoreFixture, number: u64) -> CallKey {
    fixture.call(number, Keep::Keep, async |db| note(db, number).await.unwrap()).await.unwrap();
    let Write::Call { session, call, .. } = record("s", number).swap_remove(0) else {
        panic!("a record is made of steps");
    };
    CallKey { session, call }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_cannot_be_read_costs_its_own_call_only() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let key = ended(&fixture, 1).await;
    let path = fixture.folder.path().join("store.db");
    let mut own = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    let by_hand =
        "DROP TRIGGER madang_calls_follow_the_ledger; UPDATE madang_calls SET outcome = 'no JSON'";
    sqlx::query(by_hand).execute(&mut own).await.unwrap();

    let mut transaction = fixture.store.begin().await.unwrap();
    transaction.prefetch(key.clone());
    transaction.savepoint().await.unwrap();
    transaction.prefetch(key);
    transaction.advance_savepoint(&say("s", 2)).await.unwrap();
    let own_step = transaction.write(&record("s", 1)[1]).await;
    assert!(matches!(own_step, Err(StoreError::Refused { .. })), "{own_step:?}");
    transaction.undo().await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(fixture.count(MESSAGES).await, 1);
    fixture.close().await;
}

/// Takes its time, and what stands behind it in the queue is not begun meanwhile.
const SLOW: &str = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) \
    SELECT max(i) FROM n";

#[tokio::test(flavor = "multi_thread")]
async fn what_a_borrower_left_in_the_queue_is_waited_for_before_its_part_is_kept() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for writes in [None, Some([])] {
        let mut transaction = fixture.store.begin().await.unwrap();
        transaction.savepoint().await.unwrap();
        let db: &mut SqliteConnection = transaction.connection().downcast_mut().unwrap();
        note(db, 1).await.unwrap();
        for sql in [SLOW, "ROLLBACK"] {
            let mut left = Box::pin(sqlx::query(sql).execute(&mut *db));
            let polled = left.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending(), "{sql}");
        }
        if let Some(writes) = writes {
            transaction.write_all(&writes).await.unwrap();
        }
        let kept = transaction.keep().await;
        assert!(matches!(kept, Err(StoreError::Unavailable { .. })), "{kept:?}");
        drop(transaction);
        assert_eq!(fixture.count("SELECT count(*) FROM notes").await, 0);
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_answers_otherwise_is_not_believed() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let key = ended(&fixture, 1).await;
    for prefetched in [None, Some(key)] {
        // From now on each statement that writes gives a row.
        fixture.store.say_as_store("PRAGMA count_changes = 1".to_owned()).await;
        let mut transaction = fixture.store.begin().await.unwrap();
        transaction.savepoint().await.unwrap();
        if let Some(key) = prefetched {
            transaction.prefetch(key);
        }
        let told = transaction.advance_savepoint(&say("s", 2)).await;
        assert!(matches!(told, Err(StoreError::Unavailable { .. })), "{told:?}");
        drop(transaction);
        assert_eq!(fixture.count(MESSAGES).await, 0);
        // The next transaction has a fresh connection.
        drop(fixture.store.begin().await.unwrap());
        let begun = fixture.store.begin().await.unwrap();
        begun.commit().await.unwrap();
    }
    fixture.handle.write(say("s", 2)).await.expect("the next transaction has a fresh connection");
    assert_eq!(fixture.count(MESSAGES).await, 1);
    fixture.close().await;
}
