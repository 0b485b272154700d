//! Tests statements and transactions that a handler began and left: the store ends them in time,
//! and never its own.

use std::{
    fs,
    path::Path,
    pin::pin,
    task::{Context, Waker},
    time::Duration,
};

use madang_actors::{
    port::{Reader, Store, StoreError},
    protocol::Limits,
    store::Keep,
};
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::time::timeout;

use super::support::{NOTES, StoreFixture, db, note, record, say};
use crate::store::SqliteStore;

/// Far longer than any awaited event takes.
const PATIENCE: Duration = Duration::from_secs(60);

const ENDLESS: &str =
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
const ENDLESS_WRITE: &str = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) \
     INSERT INTO notes (call) SELECT i FROM n";
/// Many times the steps that SQLite takes between two looks at the clock.
const LONG: &str = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 100000) \
     SELECT max(i) FROM n";

/// Makes a store with this deadline for handlers.
async fn fixture(deadline: Duration) -> StoreFixture {
    let limits = Limits { transaction_deadline: deadline, ..Limits::default() };
    let fixture = StoreFixture::with(limits).await;
    fixture.chat("s").await;
    fixture
}

/// Begins a statement and stops waiting for it.
fn begin(db: &mut SqliteConnection, sql: &'static str) {
    let running = pin!(sqlx::query(sql).execute(db));
    assert!(running.poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_an_ended_handler_left_running_is_cut_off_at_its_deadline() {
    for keep in [Keep::Keep, Keep::Undo] {
        for sql in [ENDLESS, ENDLESS_WRITE] {
            let fixture = fixture(Duration::from_millis(50)).await;
            let mut lease = fixture.lease("tool").await;
            note(db(&mut lease), 1).await.unwrap();
            begin(db(&mut lease), sql);
            let ended = lease.end(keep, record("s", 1));
            let behind = fixture.handle.begin_write(say("s", 2));
            let told = timeout(PATIENCE, ended).await.expect("no part waits for it");
            timeout(PATIENCE, behind).await.expect("nor do others").unwrap();
            // Interrupting a write undoes the transaction: the handler's writes are lost, and it is
            // told so.
            let is_kept = keep == Keep::Keep && sql == ENDLESS;
            let is_told = keep == Keep::Undo || is_kept;
            assert_eq!(told.is_ok(), is_told, "{keep:?} {sql}: {told:?}");
            assert_eq!(fixture.count("SELECT count(*) FROM notes").await, i64::from(is_kept));
            assert_eq!(
                fixture.count("SELECT count(*) FROM madang_calls").await,
                i64::from(is_told)
            );
            fixture.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_undone_is_cut_off_before_its_deadline() {
    let fixture = fixture(PATIENCE * 100).await;
    let mut lease = fixture.lease("tool").await;
    begin(db(&mut lease), ENDLESS);
    let ended = lease.end(Keep::Undo, record("s", 1));
    timeout(PATIENCE, ended).await.expect("no part waits for it").unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_of_a_transaction_without_a_record_is_cut_off_too() {
    let fixture = fixture(Duration::from_millis(50)).await;
    let mut lease = fixture.lease("the embedder's own").await;
    note(db(&mut lease), 1).await.unwrap();
    begin(db(&mut lease), ENDLESS);
    timeout(PATIENCE, lease.end(Keep::Keep, Vec::new())).await.expect("no part waits").unwrap();
    assert_eq!(fixture.count("SELECT count(*) FROM notes").await, 1);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_ended_handler_left_running_may_end_before_its_deadline() {
    let fixture = fixture(PATIENCE).await;
    let mut lease = fixture.lease("tool").await;
    // Many times the duration of ending the lease.
    let long = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 1000000) \
        INSERT INTO notes (call) SELECT max(i) FROM n";
    begin(db(&mut lease), long);
    lease.end(Keep::Keep, record("s", 1)).await.unwrap();
    assert_eq!(fixture.count("SELECT count(*) FROM notes").await, 1);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_keeps_its_thread_is_cut_off_after_twice_its_deadline() {
    let fixture = fixture(Duration::from_millis(50)).await;
    let mut lease = fixture.lease("tool").await;
    let error = timeout(PATIENCE, sqlx::query(ENDLESS).execute(db(&mut lease))).await;
    let error = error.expect("it ends").unwrap_err();
    assert!(error.to_string().contains("interrupted"), "{error}");
    lease.end(Keep::Undo, record("s", 1)).await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handlers_time_goes_on_however_often_it_asks_for_its_connection() {
    let fixture = fixture(Duration::from_millis(300)).await;
    let mut lease = fixture.lease("tool").await;
    // Far less than its deadline, but enough for a look at the clock.
    let short = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 5000) \
        SELECT max(i) FROM n";
    let cut_off = async { while sqlx::query(short).execute(db(&mut lease)).await.is_ok() {} };
    timeout(PATIENCE, cut_off).await.expect("its time is over");
    drop(lease);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_handler_of_a_group_has_a_time_of_its_own() {
    for (first, writes) in
        [(Keep::Keep, record("s", 1)), (Keep::Keep, vec![]), (Keep::Undo, vec![])]
    {
        let fixture = fixture(Duration::from_millis(50)).await;
        let lease = fixture.lease("first").await;
        // It waits before the first ends, so both are in one group.
        let mut second = pin!(fixture.handle.lease("second".into()));
        assert!(second.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let told = lease.end(first, writes);
        let mut lease = second.await.unwrap();
        begin(db(&mut lease), ENDLESS);
        timeout(PATIENCE, lease.end(Keep::Keep, record("s", 2))).await.expect("cut off").unwrap();
        told.await.unwrap();
        fixture.close().await;
    }
}

/// Makes the store's own writes about a call take longer than any handler may.
async fn slow_records(fixture: &StoreFixture) {
    let trigger = "CREATE TRIGGER slow_records AFTER INSERT ON madang_calls BEGIN \
        INSERT INTO notes (call) \
        SELECT max(i) FROM (WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 100000) \
        SELECT i FROM n); END";
    let file = fixture.folder.path().join("store.db");
    let mut beside = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    sqlx::query(trigger).execute(&mut beside).await.unwrap();
    beside.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_store_itself_writes_is_never_cut_off() {
    let fixture = fixture(Duration::from_nanos(1)).await;
    slow_records(&fixture).await;
    // Behind a handler alone, behind one that another follows, and behind one that was undone.
    for number in [1, 2] {
        let lease = fixture.lease("tool").await;
        let next = fixture.handle.lease("next".into());
        let told = {
            let mut lease = lease;
            note(db(&mut lease), number).await.unwrap();
            lease.end(Keep::Keep, record("s", number))
        };
        let undone = next.await.unwrap().end(Keep::Undo, record("s", number + 10));
        told.await.unwrap();
        undone.await.unwrap();
    }
    // The ledger has this call already.
    let refused = fixture.lease("tool").await.end(Keep::Keep, record("s", 1));
    assert!(matches!(refused.await, Err(StoreError::Illegal(_))));
    fixture.handle.write(record("s", 29)).await.unwrap();
    fixture.lease("the embedder's own").await.end(Keep::Keep, Vec::new()).await.unwrap();
    fixture.handle.write(record("s", 30)).await.unwrap();
    assert_eq!(fixture.count("SELECT count(*) FROM notes").await, 2 + 6);
    fixture.close().await;
}

fn reading(reader: &mut Box<dyn Reader>) -> &mut SqliteConnection {
    reader.connection().downcast_mut().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_readers_statement_ends_with_its_reader_and_no_other_does() {
    let fixture = StoreFixture::new().await;
    for _ in 0..3 {
        let mut readers = Vec::new();
        // All readers of the pool.
        for _ in 0..4 {
            let reader = timeout(PATIENCE, fixture.store.reader()).await;
            readers.push(reader.expect("they come back").unwrap());
        }
        for reader in &mut readers {
            sqlx::query(LONG).execute(reading(reader)).await.expect("it is waited for");
            begin(reading(reader), ENDLESS);
        }
    }
    timeout(PATIENCE, fixture.close()).await.expect("nothing runs any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_is_dropped_outside_of_a_runtime_is_closed() {
    let fixture = StoreFixture::new().await;
    let mut reader = fixture.store.reader().await.unwrap();
    begin(reading(&mut reader), ENDLESS);
    std::thread::spawn(move || drop(reader)).join().unwrap();
    let mut readers = Vec::new();
    for _ in 0..4 {
        let reader = timeout(PATIENCE, fixture.store.reader()).await;
        readers.push(reader.expect("its permit is free").unwrap());
    }
    drop(readers);
    fixture.close().await;
}

/// Pages in this test's log before SQLite moves them into the database.
const LOG_PAGES: u64 = 16;

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_has_come_home_keeps_no_old_moment_and_the_log_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let options = SqliteStore::open(&path).migrations("notes", &NOTES);
    let options = options.writer(|options| options.pragma("wal_autocheckpoint", "16"));
    let store = options.await.unwrap();
    let mut left = store.reader().await.unwrap();
    sqlx::query("BEGIN; SELECT count(*) FROM notes").execute(reading(&mut left)).await.unwrap();
    drop(left);
    // From now on all readers are at home.
    let mut longest = 0;
    for _ in 0..300 {
        let mut transaction = store.begin().await.unwrap();
        let db = transaction.connection().downcast_mut::<SqliteConnection>().unwrap();
        let text = "x".repeat(4_000);
        let insert = sqlx::query("INSERT INTO notes (call, text) VALUES (1, $1)").bind(text);
        insert.execute(db).await.unwrap();
        transaction.commit().await.unwrap();
        longest = longest.max(fs::metadata(folder.path().join("a.db-wal")).unwrap().len());
    }
    // The most that one transaction writes beyond the bound, and room for commits during the
    // reader's return.
    let bound = LOG_PAGES * 4_096 * 4;
    assert!(longest < bound, "the log grew to {longest} bytes");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_closed_while_its_readers_come_home_moves_its_log_into_the_database() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for _ in 0..4 {
        let mut reader = fixture.store.reader().await.unwrap();
        sqlx::query("BEGIN; SELECT count(*) FROM notes")
            .execute(reading(&mut reader))
            .await
            .unwrap();
    }
    let folder = fixture.close_and_leave().await;
    assert!(!folder.path().join("store.db-wal").exists());
}

/// Counts the files under this path that the process has open.
#[cfg(target_os = "linux")]
fn open_files(path: &Path) -> usize {
    let leads_here = |entry: std::io::Result<fs::DirEntry>| {
        fs::read_link(entry.unwrap().path()).is_ok_and(|target| target.starts_with(path))
    };
    fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| leads_here(entry).then_some(()))
        .count()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_home_to_a_closed_store_is_closed() {
    let fixture = StoreFixture::new().await;
    let reader = fixture.store.reader().await.unwrap();
    let path = fixture.folder.path().canonicalize().unwrap();
    fixture.store.close().await;
    assert_ne!(open_files(&path), 0);
    drop(reader);
    let closed = async {
        while open_files(&path) > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, closed).await.expect("it is closed though the store is still there");
    drop(fixture);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_store_lends_no_reader() {
    let fixture = StoreFixture::new().await;
    fixture.store.close().await;
    assert!(matches!(fixture.store.reader().await, Err(StoreError::Unavailable { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_has_come_home_is_lent_again() {
    let fixture = StoreFixture::new().await;
    let shared = &fixture.store.0;
    let mut both = [shared.own_reader().await.unwrap(), shared.own_reader().await.unwrap()];
    for reader in &mut both {
        sqlx::query("PRAGMA cache_size = 77").execute(reader.db()).await.unwrap();
    }
    drop(both);
    // The permit is free only after the return.
    let mut again = shared.own_reader().await.unwrap();
    let found: i64 = sqlx::query_scalar("PRAGMA cache_size").fetch_one(again.db()).await.unwrap();
    assert_eq!(found, 77);
    drop(again);
    fixture.close().await;
}
