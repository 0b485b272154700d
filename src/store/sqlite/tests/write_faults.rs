//! Tests a full disk, a read-only file and a locked database: each error is one clear sentence, and
//! acknowledged writes stay.

use std::{path::Path, time::Duration};

use madang_actors::{
    port::{Store, StoreError, Write},
    protocol::{Content, Limits},
    store::{Keep, StoreHandle},
};
use madang_testing::lone_store;
use sqlx::ConnectOptions;
use sqlx::{Connection, sqlite::SqliteConnectOptions};
use tokio_util::task::TaskTracker;

use super::{
    super::error::of_commit,
    support::{NOTES, StoreFixture, note, say, session},
};
use crate::store::{OpenError, SqliteStore, WriteFault};

/// Gives the one sentence that a person reads about a failed write.
fn words(error: &StoreError) -> String {
    assert!(matches!(error, StoreError::Unavailable { .. }), "nothing was written: {error:?}");
    WriteFault::among(error).expect("the cause is told").to_string()
}

/// Writes a user's message of some pages.
fn long(seq: u64) -> Vec<Write> {
    let mut writes = say("s", seq);
    if let Write::Message { message, .. } = &mut writes[0] {
        message.content = Content::user(format!("{seq} {}", "x".repeat(20_000)));
    }
    writes
}

/// Lists the taken numbers of the transcript, as another process reads them.
async fn numbers(path: &Path) -> Vec<u64> {
    let store = SqliteStore::open_read_only(path).await.unwrap();
    let stored = store.session(&session("s")).await.unwrap().unwrap();
    store.close().await;
    stored.messages.iter().map(|message| message.seq).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_up_loses_nothing_that_was_acknowledged() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    let mut seq = 0;
    // The disk fills up again and again, each time after some writes.
    for _ in 0..5 {
        seq += 1;
        fixture.call(seq, Keep::Keep, async |db| note(db, seq).await.unwrap()).await.unwrap();
        fixture.limit_pages(40).await;
        acknowledged.push(seq);
        loop {
            let group: Vec<_> =
                (1..=3).map(|next| fixture.handle.begin_write(long(seq + next))).collect();
            let mut is_full = false;
            for (write, seq) in group.into_iter().zip(seq + 1..) {
                match write.await {
                    Ok(()) => acknowledged.push(seq),
                    Err(error) => {
                        assert_eq!(words(&error), "the disk is full: make room and try again");
                        (is_full, refused) = (true, refused + 1);
                    }
                }
            }
            seq += 3;
            if is_full {
                break;
            }
        }
    }
    assert!(refused >= 5 && acknowledged.len() > 10, "{refused} refused, {acknowledged:?}");
    let path = fixture.folder.path().join("store.db");
    assert_eq!(numbers(&path).await, acknowledged, "beside the writer");
    let folder = fixture.close_and_leave().await;
    assert_eq!(numbers(&path).await, acknowledged, "and by the next process");
    let store = SqliteStore::open(&path).migrations("notes", &NOTES).await.unwrap();
    let ledger = store.session_ledger(&session("s")).await.unwrap().unwrap();
    ledger.audit(None, Some(store.keys())).unwrap();
    store.close().await;
    drop(folder);
}

/// Opens the fixture's file as a store that waits briefly for other programs.
async fn impatient(path: &Path) -> (SqliteStore, StoreHandle) {
    let options = SqliteStore::open(path).migrations("notes", &NOTES);
    let store = options.busy_timeout(Duration::from_millis(50)).await.unwrap();
    let port = std::sync::Arc::new(store.clone());
    (store, lone_store(port, Limits::default(), TaskTracker::new()).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_another_program_locks_takes_writes_again_when_that_ends() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let path = fixture.folder.path().join("store.db");
    let _folder = fixture.close_and_leave().await;
    let mut other = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let lock = |sql| sqlx::query(sql);

    lock("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let options = SqliteStore::open(&path).busy_timeout(Duration::from_millis(50));
    let error = options.await.unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    let sentence = "store.db is locked by another program; end that one, and try again";
    assert!(error.to_string().ends_with(sentence), "{error}");
    lock("COMMIT").execute(&mut other).await.unwrap();

    let (store, handle) = impatient(&path).await;
    handle.write(say("s", 1)).await.unwrap();
    lock("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let error = handle.write(say("s", 2)).await.unwrap_err();
    assert_eq!(
        words(&error),
        "the database is locked by another program: end that one and try again"
    );
    let lease = handle.lease("tool".into()).await.unwrap_err();
    assert!(words(&lease).contains("is locked"));
    assert_eq!(numbers(&path).await, [1], "reading goes on");
    lock("COMMIT").execute(&mut other).await.unwrap();
    handle.write(say("s", 3)).await.unwrap();
    other.close().await.unwrap();
    store.close().await;
    assert_eq!(numbers(&path).await, [1, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_becomes_read_only_loses_nothing_that_was_acknowledged() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.handle.write(say("s", 1)).await.unwrap();
    fixture.store.say_as_store("PRAGMA query_only = ON".to_owned()).await;
    let told = fixture.handle.write(say("s", 2)).await.unwrap_err();
    assert!(words(&told).contains("is read-only"), "{told:?}");
    fixture.handle.write(say("s", 3)).await.expect("the next connection writes again");
    let path = fixture.folder.path().join("store.db");
    let _folder = fixture.close_and_leave().await;
    assert_eq!(numbers(&path).await, [1, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_failed_otherwise_than_by_being_undone_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    std::fs::write(&file, [7; 5_000]).unwrap();
    let mut garbage = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    let mut empty = SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
    let sql = "SELECT * FROM nowhere";
    let not_known = sqlx::query(sql).execute(&mut garbage).await.unwrap_err();
    assert!(matches!(of_commit(not_known), StoreError::Unknown { .. }));
    assert!(matches!(of_commit(sqlx::Error::WorkerCrashed), StoreError::Unknown { .. }));
    let undone = sqlx::query(sql).execute(&mut empty).await.unwrap_err();
    assert!(matches!(of_commit(undone), StoreError::Unavailable { .. }));
}
