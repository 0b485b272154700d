//! Tests that nothing is kept, undone, written or committed after the end of a transaction.

use std::{error::Error, sync::Arc};

use madang_actors::{
    ledger::SealKeys,
    port::{Store, StoreError, Transaction},
};
use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::{Mutex, watch};

use super::{
    super::{
        transaction::SqliteTransaction,
        writer::{EndedByOthers, Writer},
    },
    support::{StoreFixture, note, say, session},
};

/// Rolls a transaction back inside of a part, as SQLite does on a full disk.
async fn rolled_back() -> Box<SqliteTransaction> {
    let db = SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
    let writer = Writer::new(db, SealKeys::default()).await.unwrap();
    let slot = Arc::new(Mutex::new(Some(writer))).lock_owned().await;
    let mut transaction = SqliteTransaction::begin(slot, watch::Sender::new(0)).await.unwrap();
    transaction.savepoint(None).await.unwrap();
    sqlx::query("ROLLBACK").execute(transaction.own().db).await.unwrap();
    Box::new(transaction)
}

/// Requires this message, not SQLite's about the consequences.
fn is_told(what: &str, done: Result<(), StoreError>) {
    let error = done.expect_err(what);
    let mut cause: Option<&dyn Error> = Some(&error);
    while let Some(other) = cause.filter(|cause| cause.to_string() != EndedByOthers.to_string()) {
        cause = other.source();
    }
    assert!(cause.is_some(), "{what}: {error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_the_end_of_its_transaction_a_part_can_do_nothing() {
    is_told("savepoint", rolled_back().await.savepoint(None).await);
    let call = madang_actors::protocol::CallId::new(uuid::Uuid::from_u128(1));
    is_told("savepoint", rolled_back().await.savepoint(Some((&session("s"), call))).await);
    is_told("keep", rolled_back().await.keep().await);
    is_told("undo", rolled_back().await.undo().await);
    is_told("write", rolled_back().await.write(&say("s", 1)).await);
    is_told("commit", rolled_back().await.commit().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_borrower_that_rolled_the_whole_back_commits_nothing() {
    let fixture = StoreFixture::new().await;
    let mut transaction = fixture.store.begin().await.unwrap();
    let db: &mut SqliteConnection = transaction.connection().downcast_mut().unwrap();
    note(db, 1).await.unwrap();
    sqlx::query("ROLLBACK").execute(db).await.expect("it is told nothing");
    is_told("commit", transaction.commit().await);
    assert_eq!(fixture.count("SELECT count(*) FROM notes").await, 0);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_whose_transaction_was_ended_says_so_whatever_is_asked_of_it() {
    let db = SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
    let mut writer = Writer::new(db, SealKeys::default()).await.unwrap();
    writer.begin().await.unwrap();
    writer.must_be_open().unwrap();
    sqlx::query("ROLLBACK").execute(writer.own().db).await.unwrap();
    assert_eq!(writer.must_be_open(), Err(EndedByOthers));
    assert_eq!(writer.must_be_untouched(), Err(EndedByOthers));
    for done in [writer.release(1).await, writer.roll_back(1).await, writer.commit().await] {
        is_told("the writer", done);
    }
    writer.begin().await.unwrap();
    writer.must_be_open().expect("the next transaction is another");
}
