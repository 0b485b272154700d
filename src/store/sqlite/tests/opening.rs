//! Tests opening files that exist, that are missing, or that belong to another program.

use std::{
    error::Error,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
    process::Command,
};

use madang_actors::{
    ledger::verify,
    port::{LedgerFilter, Store, StoreError},
    store::Keep,
};
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection, sqlite::SqliteConnectOptions};

use super::support::{NOTES, StoreFixture, note, record, say, session};
use crate::store::{OpenError, SqliteStore};

pub(super) async fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path).await
}

/// Runs SQL on a file as another application would.
pub(super) async fn run(path: &Path, sql: &'static str) {
    let mut db: SqliteConnection =
        SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap();
    sqlx::query(sql).execute(&mut db).await.unwrap();
    db.close().await.unwrap();
}

/// Lists the file and its neighbours, with hashes of their contents.
pub(super) fn snapshot(folder: &Path) -> Vec<(String, u64)> {
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        let mut hash = DefaultHasher::new();
        fs::read(entry.path()).unwrap().hash(&mut hash);
        (entry.file_name().into_string().unwrap(), hash.finish())
    };
    let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(entry).collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_there_after_closing_and_opening_again() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.handle.write(say("s", 1)).await.unwrap();
    fixture.call(2, Keep::Keep, async |db| note(db, 2).await.unwrap()).await.unwrap();
    let before = fixture.store.session(&session("s")).await.unwrap();
    let path = fixture.folder.path().join("store.db");
    let StoreFixture { folder, store, .. } = fixture;
    store.close().await;
    assert!(!path.with_extension("db-wal").exists(), "the log was moved into the database");

    let store = SqliteStore::open(&path).migrations("notes", &NOTES).await.unwrap();
    assert_eq!(store.session(&session("s")).await.unwrap(), before);
    let (links, end) = store.links(&session("s")).await.unwrap();
    assert_eq!(verify(&session("s"), &links, &end), Ok(()));
    store.close().await;
    drop(folder);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_writer_is_refused_in_one_sentence_before_it_touches_anything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let first = open(&path).await.unwrap();
    let before = snapshot(folder.path());
    let error = open(&path).await.unwrap_err();
    assert!(matches!(error, OpenError::Held { .. }));
    assert!(
        error.to_string().contains(
            "is in use by another process or by another store of this one; end that one first"
        ),
        "{error}"
    );
    #[cfg(unix)]
    {
        let link = folder.path().join("link.db");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(
            matches!(open(&link).await.unwrap_err(), OpenError::Held { .. }),
            "by another name, too"
        );
        fs::remove_file(link).unwrap();
    }
    assert_eq!(snapshot(folder.path()), before);
    first.close().await;
    open(&path).await.expect("the lock went with the store").close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_store_takes_no_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("a.db")).await.unwrap();
    store.close().await;
    assert!(matches!(store.begin().await, Err(StoreError::Unavailable { .. })));
    assert!(matches!(store.session(&session("s")).await, Err(StoreError::Unavailable { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    fs::write(&path, "dear diary").unwrap();
    let before = snapshot(folder.path());
    let error = open(&path).await.unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }));
    assert!(
        error.to_string().ends_with("notes.txt is not a Madang database; choose another file"),
        "{error}"
    );
    assert!(matches!(
        SqliteStore::open_read_only(&path).await.unwrap_err(),
        OpenError::Foreign { .. }
    ));
    assert!(
        matches!(open(folder.path()).await.unwrap_err(), OpenError::Foreign { .. }),
        "a folder"
    );
    assert_eq!(snapshot(folder.path()), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_beside_a_file_that_is_no_database_is_left_alone() {
    for text in ["x", "dear diary", &"dear diary ".repeat(100)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("diary");
        for name in ["diary", "diary-journal", "diary-wal"] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let before = snapshot(folder.path());
        assert!(matches!(open(&path).await.unwrap_err(), OpenError::Foreign { .. }));
        let read = SqliteStore::open_read_only(&path).await;
        assert!(matches!(read.unwrap_err(), OpenError::Foreign { .. }));
        assert_eq!(snapshot(folder.path()), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_begins_like_a_database_and_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    fs::write(&path, [b"SQLite format 3\0".as_slice(), &[7; 5_000]].concat()).unwrap();
    assert!(matches!(open(&path).await.unwrap_err(), OpenError::Foreign { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_which_a_part_is_missing_is_damaged_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    open(&path).await.unwrap().close().await;
    let whole = fs::read(&path).unwrap();
    let half = &whole[..whole.len() / 2];
    fs::write(&path, half).unwrap();
    for opened in [open(&path).await, SqliteStore::open_read_only(&path).await] {
        let error = opened.unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
        assert!(fs::read(&path).unwrap() == half);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_another_application_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    run(&path, "CREATE TABLE songs (title TEXT)").await;
    let before = snapshot(folder.path());
    assert!(matches!(open(&path).await.unwrap_err(), OpenError::Foreign { .. }));
    assert!(matches!(
        SqliteStore::open_read_only(&path).await.unwrap_err(),
        OpenError::Foreign { .. }
    ));
    assert_eq!(snapshot(folder.path()), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedder_can_share_a_file_that_has_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.db");
    run(&path, "CREATE TABLE songs (title TEXT); CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY)").await;
    let store =
        SqliteStore::open(&path).shared_with_embedder().migrations("notes", &NOTES).await.unwrap();
    store.close().await;
    // Once it has the store's tables, the file needs no such option.
    SqliteStore::open(&path).migrations("notes", &NOTES).await.unwrap().close().await;
    run(&path, "INSERT INTO songs VALUES ('마당'); INSERT INTO notes (call) VALUES (1); DELETE FROM _sqlx_migrations")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_keys_that_are_missing_the_newest_is_named() {
    for (keys, newest) in [
        ("INSERT INTO madang_seal_keys VALUES ('a', 1), ('b', 2), ('c', 0)", "b"),
        ("INSERT INTO madang_seal_keys VALUES ('a', 2), ('b', 1), ('c', 0)", "a"),
        ("INSERT INTO madang_seal_keys VALUES ('a', 0), ('b', 1), ('c', 2)", "c"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        open(&path).await.unwrap().close().await;
        run(&path, "DELETE FROM madang_seal_keys").await;
        run(&path, keys).await;
        let error = open(&path).await.unwrap_err();
        let OpenError::SealKeyMissing { key, .. } = &error else { panic!("{error:?}") };
        assert_eq!(key, newest, "{keys}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_cannot_be_written_is_told_with_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let error = open(&folder.path().join("nowhere/a.db")).await.unwrap_err();
    assert!(matches!(error, OpenError::Unusable { .. }) && error.source().is_some(), "{error:?}");
    assert!(error.to_string().contains("check that its folder exists"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_to_read_creates_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    assert!(matches!(
        SqliteStore::open_read_only(&path).await.unwrap_err(),
        OpenError::Missing { .. }
    ));
    assert_eq!(snapshot(folder.path()), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_is_read_beside_its_writer_and_after_it() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.call(1, Keep::Keep, async |_| ()).await.unwrap();
    let path = fixture.folder.path().join("store.db");
    let beside = SqliteStore::open_read_only(&path).await.unwrap();
    assert_eq!(beside.calls(&LedgerFilter::default()).await.unwrap().len(), 1);
    fixture.handle.write(record("s", 2)).await.unwrap();
    assert_eq!(
        beside.calls(&LedgerFilter::default()).await.unwrap().len(),
        2,
        "it sees what came later"
    );
    assert!(matches!(beside.begin().await, Err(StoreError::Unavailable { .. })));
    beside.close().await;

    let StoreFixture { folder, store, .. } = fixture;
    store.close().await;
    let after = SqliteStore::open_read_only(&path).await.unwrap();
    assert_eq!(after.calls(&LedgerFilter::default()).await.unwrap().len(), 2);
    after.close().await;
    drop(folder);
}

/// Before 3.51, SQLite tells by the locks whether it closes a database last. The last moves the log
/// into the database and removes it, which would lose later writes of an open store.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn opening_a_database_again_keeps_the_locks_that_keep_its_log() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let path = fixture.folder.path().join("store.db");
    assert!(matches!(open(&path).await.unwrap_err(), OpenError::Held { .. }));
    SqliteStore::open_read_only(&path).await.unwrap().close().await;
    let job = format!("{}::is_not_the_last", module_path!().split_once("::").unwrap().1);
    let mut another = Command::new(std::env::current_exe().unwrap());
    another.args([&*job, "--exact", "--ignored"]).env(DATABASE, &path);
    let ended = another.output().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}

/// The variable that names the database for a process of its own.
#[cfg(unix)]
const DATABASE: &str = "MADANG_TEST_DATABASE";

#[cfg(unix)]
#[test]
#[ignore = "a job for a process of its own, which another test starts"]
fn is_not_the_last() {
    use rustix::fs::{FlockOperation, fcntl_lock};
    let file = fs::OpenOptions::new().write(true).open(std::env::var(DATABASE).unwrap()).unwrap();
    let taken = fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive);
    assert!(taken.is_err(), "no program has it open, as far as the locks tell");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_committed_is_there_after_a_crash() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.call(1, Keep::Keep, async |db| note(db, 1).await.unwrap()).await.unwrap();
    let mut open = fixture.lease("cut off by the crash").await;
    note(super::support::db(&mut open), 2).await.unwrap();

    // A crash leaves the files as they are, with an open transaction.
    let after = tempfile::tempdir().unwrap();
    for name in ["store.db", "store.db-wal"] {
        fs::copy(fixture.folder.path().join(name), after.path().join(name)).unwrap();
    }
    let store =
        SqliteStore::open(after.path().join("store.db")).migrations("notes", &NOTES).await.unwrap();
    assert_eq!(store.calls(&LedgerFilter::default()).await.unwrap().len(), 1);
    let mut reader = store.reader().await.unwrap();
    let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
    let notes: i64 = sqlx::query_scalar("SELECT count(*) FROM notes").fetch_one(db).await.unwrap();
    assert_eq!(notes, 1);
    drop((open, reader));
    store.close().await;
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_in_memory_leaves_nothing_behind() {
    let store = SqliteStore::in_memory().migrations("notes", &NOTES).await.unwrap();
    let list = store.say_as_store("SELECT file FROM pragma_database_list".to_owned()).await;
    let file: String = list[0].get(0);
    let folder = Path::new(&file).parent().unwrap().to_owned();
    assert!(folder.exists());
    store.close().await;
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_commit_is_synced_to_the_disk() {
    let fixture = StoreFixture::new().await;
    let pragma = async |name| fixture.store.say_as_store(format!("PRAGMA {name}")).await.remove(0);
    let synchronous: i64 = pragma("synchronous").await.get(0);
    let journal: String = pragma("journal_mode").await.get(0);
    let foreign_keys: i64 = pragma("foreign_keys").await.get(0);
    assert_eq!((synchronous, journal.as_str(), foreign_keys), (2, "wal", 1));
    fixture.close().await;
}
