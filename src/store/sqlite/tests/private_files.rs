//! Tests that no other account can read a user's database or lock the user out of it.

use std::{
    fs,
    os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink},
    path::Path,
};

use madang_actors::port::Store;
use madang_testing::Logs;
use tracing::Level;

use super::{
    super::private,
    support::{NOTES, StoreFixture, say},
};
use crate::store::{OpenError, SqliteStore};

/// Lists the rights of other accounts on each file in a folder.
fn others(folder: &Path) -> Vec<(String, u32)> {
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        (
            entry.file_name().into_string().unwrap(),
            entry.metadata().unwrap().permissions().mode() & 0o077,
        )
    };
    let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(entry).collect();
    all.sort();
    all
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn database_log_index_and_locks_are_the_users_alone() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.handle.write(say("s", 1)).await.unwrap();
    let found = others(fixture.folder.path());
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[1..], ["store.db", "store.db-shm", "store.db-wal", "store.db.lock"]);
    assert!(found.iter().all(|(_, others)| *others == 0), "{found:?}");
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_could_open_before_they_cannot_any_more() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let after = tempfile::tempdir().unwrap();
    // A program that made its files readable for all leaves them after a crash.
    for name in ["store.db", "store.db-wal", "store.db-shm", "store.db.lock"] {
        fs::copy(fixture.folder.path().join(name), after.path().join(name)).unwrap();
        set_mode(&after.path().join(name), 0o666);
    }
    fixture.close().await;
    let store =
        SqliteStore::open(after.path().join("store.db")).migrations("notes", &NOTES).await.unwrap();
    let found = others(after.path());
    assert!(found.iter().all(|(_, others)| *others == 0), "{found:?}");
    store.close().await;
}

#[tokio::test]
async fn a_file_that_is_the_embedders_own_keeps_its_mode_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.db");
    SqliteStore::open(&file).await.unwrap().close().await;
    set_mode(&file, 0o640);
    set_mode(folder.path(), 0o777);
    let logs = Logs::keep(Level::WARN);
    let store = SqliteStore::open(&file).shared_with_embedder().await.unwrap();
    store.close().await;
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    let said = logs.text();
    assert!(said.contains("other users of this machine may open the database"), "{said}");
    assert!(said.contains("another account may replace the database"), "{said}");
    set_mode(folder.path(), 0o1777);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_file_that_is_a_link_or_a_pipe_is_not_locked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let lock = folder.path().join("a.db.lock");
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, "theirs").unwrap();
    symlink(&elsewhere, &lock).unwrap();
    assert!(matches!(SqliteStore::open(&file).await, Err(OpenError::Unusable { .. })));
    fs::remove_file(&lock).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &lock,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let reader = fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(&lock)
        .unwrap();
    let error = SqliteStore::open(&file).await.unwrap_err();
    assert!(matches!(error, OpenError::ForeignLock { .. }), "{error:?}");
    drop(reader);
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "theirs");
}

/// Checks nothing unless run by the superuser: others cannot give a file to another account.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_file_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let lock = folder.path().join("a.db.lock");
    fs::write(&lock, "").unwrap();
    std::os::unix::fs::chown(&lock, Some(65_534), None).unwrap();
    let error = SqliteStore::open(&file).await.unwrap_err();
    assert!(matches!(error, OpenError::ForeignLock { .. }), "{error:?}");
    assert!(error.to_string().ends_with("remove it, or choose another folder"), "{error}");
    fs::remove_file(lock).unwrap();
    SqliteStore::open(&file).await.unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_file_keeps_its_mode_unless_others_could_open_it() {
    for (before, after) in [(0o700, 0o700), (0o600, 0o600), (0o644, 0o600), (0o620, 0o600)] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let lock = folder.path().join("a.db.lock");
        fs::write(&lock, "").unwrap();
        set_mode(&lock, before);
        SqliteStore::open(&file).await.unwrap().close().await;
        let mode = fs::metadata(&lock).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, after, "{before:o}");
    }
}

#[test]
fn a_file_that_cannot_be_made_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    for _ in 0..2 {
        private::create(&file).expect("there is no file, or there is one");
    }
    private::create(&folder.path().join("nowhere/a.db")).unwrap_err();
}
