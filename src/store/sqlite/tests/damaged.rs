//! Tests opening a database that lost a part, or had it overwritten.

use std::{error::Error, fs, ops::Range};

use madang_actors::{port::Store, store::Keep};
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};

use super::support::{NOTES, StoreFixture, note};
use crate::store::{OpenError, SqliteStore};

/// Gives the bytes of a database with a chat and a call, all in one file.
async fn whole() -> Vec<u8> {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.call(2, Keep::Keep, async |db| note(db, 2).await.unwrap()).await.unwrap();
    let path = fixture.folder.path().join("store.db");
    let StoreFixture { folder, store, .. } = fixture;
    store.close().await;
    let bytes = fs::read(path).unwrap();
    drop(folder);
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_which_a_part_is_missing_or_rubbish_is_damaged_and_left_as_it_was() {
    const PAGE: usize = 4_096;
    // The first page behind its header of 100 bytes says where the tables are.
    const TREE: Range<usize> = 100..PAGE;
    let whole = whole().await;
    let cut = |length: usize| whole[..length].to_vec();
    let rubbish = |range: Range<usize>| {
        let mut bytes = whole.clone();
        bytes[range].fill(0xa5);
        bytes
    };
    for (name, bytes) in [
        ("first page alone", cut(PAGE)),
        ("two pages", cut(2 * PAGE)),
        ("half of it", cut(whole.len() / 2)),
        ("all but one page", cut(whole.len() - PAGE)),
        ("rubbish in the first page", rubbish(TREE)),
        ("rubbish behind the first page", rubbish(PAGE..whole.len())),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        fs::write(&path, &bytes).unwrap();
        for error in [
            SqliteStore::open(&path).await.unwrap_err(),
            SqliteStore::open(&path).migrations("notes", &NOTES).await.unwrap_err(),
            SqliteStore::open_read_only(&path).await.unwrap_err(),
        ] {
            let is_told = matches!(error, OpenError::Damaged { .. }) && error.source().is_some();
            assert!(is_told, "{name}: {error:?}");
            let words = error.to_string();
            assert!(words.contains("is damaged; restore it from a backup"), "{name}: {words}");
        }
        assert!(fs::read(&path).unwrap() == bytes, "{name}: the file was changed");
    }
}

#[tokio::test]
async fn what_turns_out_to_be_no_database_behind_the_first_look_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    fs::write(&path, "no database ".repeat(99)).unwrap();
    let mut db = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let cause = sqlx::query("SELECT 1 FROM sqlite_schema").execute(&mut db).await.unwrap_err();
    assert!(matches!(OpenError::of_sql(&path, cause), OpenError::Damaged { .. }));
    let cause = sqlx::query("SELECT 1 FROM").execute(&mut db).await.unwrap_err();
    assert!(matches!(OpenError::of_sql(&path, cause), OpenError::Unusable { .. }));
    db.close().await.unwrap();
}
