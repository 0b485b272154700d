//! Tests opening to read: files that exist, that are missing, and that cannot be read as they
//! should.

use madang_actors::{
    ledger::{SealKey, SealKeys},
    port::Store,
};

use super::support::{NOTES, StoreFixture};
use crate::store::{OpenError, SealKeyFile, SqliteStore, keys::missing};

#[tokio::test(flavor = "multi_thread")]
async fn where_the_way_to_a_file_ends_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let error = SqliteStore::open_read_only(folder.path().join("none/a.db")).await.unwrap_err();
    assert!(matches!(error, OpenError::Missing { .. }), "{error:?}");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    #[cfg(unix)]
    {
        let error = SqliteStore::open_read_only(file.join("a.db")).await.unwrap_err();
        assert!(matches!(error, OpenError::Unusable { .. }), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_a_table_can_be_written_and_not_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let mut db = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::query("CREATE TABLE t (a); DROP TABLE t").execute(&mut db).await.unwrap();
    sqlx::Connection::close(db).await.unwrap();
    let error = SqliteStore::open_read_only(&file).await.unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
    SqliteStore::open(&file).await.unwrap().close().await;
    SqliteStore::open_read_only(&file).await.unwrap().close().await;
}

/// Dangling links stand for a folder that cannot be written: SQLite makes neither log nor index
/// there.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn where_no_index_can_be_made_the_file_alone_is_read_unless_there_is_a_log() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let copy = tempfile::tempdir().unwrap();
    let file = copy.path().join("store.db");
    for name in ["store.db", "store.db-wal"] {
        std::fs::copy(fixture.folder.path().join(name), copy.path().join(name)).unwrap();
    }
    std::os::unix::fs::symlink("nowhere", copy.path().join("store.db-shm")).unwrap();
    let error = SqliteStore::open_read_only(&file).await.unwrap_err();
    let is_told = matches!(error, OpenError::Unusable { .. } | OpenError::ReadOnly { .. });
    assert!(is_told, "what stands in the log would be left out: {error:?}");
    fixture.close().await;

    std::fs::remove_file(copy.path().join("store.db-shm")).unwrap();
    // The last program to close it moves the log into the file.
    SqliteStore::open(&file).migrations("notes", &NOTES).await.unwrap().close().await;
    assert!(!copy.path().join("store.db-wal").exists());
    for name in ["store.db-wal", "store.db-shm"] {
        std::os::unix::fs::symlink("nowhere", copy.path().join(name)).unwrap();
    }
    let store = SqliteStore::open_read_only(&file).await.unwrap();
    assert!(store.session(&super::support::session("s")).await.unwrap().is_some());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_made_has_a_key_in_the_file_that_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let options = SqliteStore::open(folder.path().join("a.db")).seal_key_file(&keys);
    options.await.unwrap().close().await;
    assert!(SealKeyFile::at(&keys).read().unwrap().is_some_and(|keys| !keys.is_empty()));
}

#[test]
fn the_message_about_keys_says_where_they_were_looked_for() {
    let with = |keys: Option<&str>| {
        let path = "a.db".into();
        let key = "k".to_owned();
        OpenError::SealKeyMissing { path, key, keys: keys.map(Into::into) }.to_string()
    };
    assert!(with(None).contains(", which is not among those that were given; "), "{}", with(None));
    let named = with(Some("/keys"));
    assert!(named.contains(", which is not in /keys; "), "{named}");
}

#[test]
fn the_keys_that_are_missing_are_those_that_were_not_found() {
    let keys = [1, 2, 3].map(|byte| SealKeys::new([SealKey::new([byte; 32])]));
    let known = keys.each_ref().map(|keys| keys.ids().next().unwrap().to_string());
    assert_eq!(missing(&known, &keys[1]), [&known[0], &known[2]]);
    assert_eq!(missing(&[], &keys[1]), [""; 0]);
}
