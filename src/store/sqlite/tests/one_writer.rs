//! Tests that one program at a time writes a database, under any name and after any move.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use madang_actors::port::Store;
use tempfile::TempDir;

use super::{
    super::{database_file, lock::Lock},
    support::{StoreFixture, say},
};
use crate::store::{OpenError, SqliteStore, WriteFault};

/// Creates a folder with two folders.
fn folders() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one");
    let other = folder.path().join("other");
    fs::create_dir(&one).unwrap();
    fs::create_dir(&other).unwrap();
    (folder, one, other)
}

async fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path).await
}

async fn is_held(path: &Path) {
    let second = open(path).await;
    assert!(matches!(second, Err(OpenError::Held { .. })), "{path:?}: {second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_a_file_that_is_yet_to_come_is_locked_like_the_file() {
    let (_folder, data, app) = folders();
    let file = data.join("real.db");
    let link = app.join("app.db");
    let far = app.join("far.db");
    symlink("../other/app.db", data.join("back.db")).unwrap();
    symlink(&file, &link).unwrap();
    symlink("../one/back.db", &far).unwrap();
    for first in [&link, &far, &file] {
        let store = open(first).await.unwrap();
        for second in [&file, &link, &far, &data.join("../other/./far.db")] {
            is_held(second).await;
        }
        assert!(!app.join("app.db.lock").exists(), "the lock lies beside the file");
        store.close().await;
        for name in ["real.db", "real.db.lock"] {
            fs::remove_file(data.join(name)).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn links_that_lead_in_a_circle_are_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one.db");
    let other = folder.path().join("other.db");
    symlink(&one, &other).unwrap();
    symlink(&other, &one).unwrap();
    let error = open(&one).await.unwrap_err();
    assert!(matches!(error, OpenError::Unusable { .. }), "{error:?}");
}

#[test]
fn a_path_that_leads_through_a_file_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = database_file::resolved(&file.join("a.db")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotADirectory);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_two_names_is_refused_in_one_sentence() {
    let (_folder, one, other) = folders();
    let file = one.join("a.db");
    let second = other.join("b.db");
    open(&file).await.unwrap().close().await;
    fs::hard_link(&file, &second).unwrap();
    for name in [&file, &second] {
        let error = open(name).await.unwrap_err();
        assert!(matches!(error, OpenError::SeveralNames { .. }), "{error:?}");
        assert!(error.to_string().contains("has more than one name, by a hard link"), "{error}");
    }
    assert!(!other.join("b.db.lock").exists(), "it leaves no trace");
    fs::remove_file(second).unwrap();
    open(&file).await.expect("it has one name again").close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_name_that_an_open_file_gets_opens_nothing_and_stops_the_writer() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let (file, second) =
        (fixture.folder.path().join("store.db"), fixture.folder.path().join("b.db"));
    fs::hard_link(&file, &second).unwrap();
    let refused = open(&second).await.unwrap_err();
    assert!(matches!(refused, OpenError::SeveralNames { .. }), "{refused:?}");
    let told = fixture.handle.write(say("s", 1)).await.unwrap_err();
    assert!(WriteFault::among(&told).is_some(), "{told:?}");
    fs::remove_file(second).unwrap();
    fixture.handle.write(say("s", 1)).await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_renamed_while_it_is_open_stays_locked_and_is_not_written() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let (file, moved) =
        (fixture.folder.path().join("store.db"), fixture.folder.path().join("b.db"));
    fs::rename(&file, &moved).unwrap();
    is_held(&moved).await;
    let told = fixture.handle.write(say("s", 1)).await.unwrap_err();
    let sentence = WriteFault::among(&told).expect("the cause is told").to_string();
    assert!(sentence.starts_with("the database was moved, replaced or removed"), "{sentence}");
    assert!(fixture.handle.lease("tool".into()).await.is_err(), "nor by a tool");
    fs::rename(moved, file).unwrap();
    fixture.handle.write(say("s", 1)).await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_the_place_of_an_open_one_is_neither_opened_nor_written() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let file = fixture.folder.path().join("store.db");
    let other = fixture.folder.path().join("other.db");
    open(&other).await.unwrap().close().await;
    fs::rename(&file, fixture.folder.path().join("kept.db")).unwrap();
    fs::rename(other, &file).unwrap();
    is_held(&file).await;
    assert!(fixture.handle.write(say("s", 1)).await.is_err(), "the log would be another file's");
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_a_lock_file_gives_no_other_store_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let store = open(&file).await.unwrap();
    fs::remove_file(folder.path().join("a.db.lock")).unwrap();
    is_held(&file).await;
    store.close().await;
    open(&file).await.unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_replaced_between_its_lock_and_its_opening_is_not_taken_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let lock = Lock::take(&file).unwrap();
    lock.file().must_be_there().unwrap();
    fs::rename(&file, folder.path().join("b.db")).unwrap();
    assert!(lock.file().must_be_there().is_err(), "it is gone");
    fs::write(&file, "").unwrap();
    assert!(lock.file().must_be_there().is_err(), "it is another one");
    drop(lock);

    let opened = SqliteStore::open(&file).writer(|options| {
        let file = options.get_filename();
        fs::rename(file, file.with_extension("gone")).unwrap();
        fs::rename(file.with_file_name("b.db"), file).unwrap();
        options
    });
    let error = opened.await.unwrap_err();
    assert!(matches!(error, OpenError::Moved { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_store_leaves_one_lock_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("a.db")).await.unwrap();
    let names = || {
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert!(names()[0].starts_with(".madang-"), "{:?}", names());
    store.close().await;
    assert!(matches!(store.begin().await, Err(error) if WriteFault::among(&error).is_none()));
    assert_eq!(names(), ["a.db", "a.db.lock"]);
}
