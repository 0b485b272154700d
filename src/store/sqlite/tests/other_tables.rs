//! Tests that tables that this program did not create are refused before anything is changed.

use std::{error::Error, sync::LazyLock};

use madang_actors::port::Store as _;
use sqlx::{
    ConnectOptions, Connection, SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::SqliteConnectOptions,
};

use super::{
    opening::{open, run, snapshot},
    support::NOTES,
};
use crate::store::{OpenError, SqliteStore};

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    open(&path).await.unwrap().close().await;
    run(
        &path,
        "INSERT INTO _madang_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'the future', TRUE, x'00', 0)",
    )
    .await;
    let before = snapshot(folder.path());
    let error = open(&path).await.unwrap_err();
    assert!(matches!(error, OpenError::Newer { .. }));
    assert!(
        error.to_string().contains("was made by a newer version; use that version to open it"),
        "{error}"
    );
    assert_eq!(snapshot(folder.path()), before);
    assert!(matches!(
        SqliteStore::open_read_only(&path).await.unwrap_err(),
        OpenError::Newer { .. }
    ));
}

/// Requires that opening is refused for this reason, to write and to read, and leaves the file as
/// it was.
async fn is_refused(sql: &'static str, is_the_reason: fn(&OpenError) -> bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    open(&path).await.unwrap().close().await;
    run(&path, sql).await;
    // A file without a log would be given one.
    run(&path, "PRAGMA journal_mode = DELETE").await;
    let before = snapshot(folder.path());
    for opened in [open(&path).await, SqliteStore::open_read_only(&path).await] {
        let error = opened.expect_err(sql);
        assert!(is_the_reason(&error) && error.source().is_some(), "{sql}: {error:?}");
    }
    assert_eq!(snapshot(folder.path()), before, "{sql}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_were_changed_behind_our_back_are_refused_and_left_alone() {
    for sql in [
        "UPDATE _madang_migrations SET checksum = x'00' WHERE version = 1",
        "UPDATE _madang_migrations SET success = FALSE WHERE version = 1",
        "UPDATE _madang_migrations SET version = 0 WHERE version = 1",
        "UPDATE _madang_migrations SET version = NULL WHERE version = 1",
        "DROP TABLE _madang_migrations; CREATE TABLE _madang_migrations (version)",
    ] {
        is_refused(sql, |error| matches!(error, OpenError::Tables { .. })).await;
    }
    for sql in [
        "UPDATE _madang_migrations SET version = 'one' WHERE version = 1",
        "UPDATE _madang_migrations SET success = 'perhaps' WHERE version = 1",
    ] {
        is_refused(sql, |error| matches!(error, OpenError::Damaged { .. })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_toolkits_tables_that_do_not_fit_are_refused_and_the_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let newer = "INSERT INTO _notes_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'the future', TRUE, x'00', 0)";
    let refused = async |sql| {
        SqliteStore::open(&path).migrations("notes", &NOTES).await.unwrap().close().await;
        run(&path, sql).await;
        run(&path, "PRAGMA journal_mode = DELETE").await;
        let before = snapshot(folder.path());
        let error = SqliteStore::open(&path).migrations("notes", &NOTES).await.unwrap_err();
        assert_eq!(snapshot(folder.path()), before, "{sql}");
        error
    };
    assert!(matches!(refused(newer).await, OpenError::Newer { .. }));
    run(&path, "DELETE FROM _notes_migrations WHERE version = 9999").await;
    let word = refused("UPDATE _notes_migrations SET version = 'one' WHERE version = 1").await;
    assert!(matches!(word, OpenError::Damaged { .. }), "{word:?}");
    run(&path, "UPDATE _notes_migrations SET version = 1 WHERE version = 'one'").await;
    // The migration's table exists already.
    let gone = refused("DROP TABLE _notes_migrations").await;
    assert!(matches!(gone, OpenError::Tables { of: "notes", .. }), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_migration_of_the_application_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let refused = async |sql| {
        let migrator: &'static Migrator = Box::leak(Box::new(migrator("mine", sql, false)));
        let options = SqliteStore::open(&path).migrations("the shop", migrator);
        match options.await {
            Ok(store) => {
                store.close().await;
                None
            }
            Err(error) => Some(error.to_string()),
        }
    };
    let file = path.display();
    let failed = refused("CREATE TABLE goods (id INTEGER").await.unwrap();
    assert_eq!(
        failed,
        format!(
            "failed to prepare the tables of the shop in {file}: migration 1 (mine) failed; correct it, or restore the \
             database from a backup"
        )
    );
    assert_eq!(refused("CREATE TABLE goods (id INTEGER)").await, None);
    let changed = refused("CREATE TABLE goods (id INTEGER, name TEXT)").await.unwrap();
    assert_eq!(
        changed,
        format!(
            "failed to prepare the tables of the shop in {file}: migration 1 (mine) was changed after it was applied; take \
             the change back, and make it in a new migration"
        )
    );
}

fn migrator(table: &'static str, sql: &'static str, is_alone: bool) -> Migrator {
    let migration =
        Migration::new(1, table.into(), MigrationType::Simple, sql.into_sql_str(), is_alone);
    let mut migrator = Migrator::with_migrations(vec![migration]);
    migrator.dangerous_set_table_name(table);
    migrator
}

/// Runs outside of a transaction, where nothing can be rolled back.
static ALONE: LazyLock<Migrator> =
    LazyLock::new(|| migrator("_alone_migrations", "VACUUM; CREATE TABLE alone (id)", true));
static BEHIND: LazyLock<Migrator> =
    LazyLock::new(|| migrator("_behind_migrations", "INSERT INTO alone VALUES (1)", false));

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_stands_alone_is_made_before_what_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    open(&path).await.unwrap().close().await;
    for _ in 0..2 {
        let options = SqliteStore::open(&path)
            .migrations("notes", &NOTES)
            .migrations("alone", &ALONE)
            .migrations("behind", &BEHIND);
        options.await.unwrap().close().await;
    }
    let mut db = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let made = sqlx::query_scalar("SELECT count(*) FROM alone").fetch_one(&mut db).await;
    let made: i64 = made.unwrap();
    assert_eq!(made, 1);
    db.close().await.unwrap();
}
