//! Tests tables of an application and of toolkits beside those of the store.

use std::sync::LazyLock;

use madang_actors::port::{Forget, Store as _};
use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::support::{Database, NOTES, NOTES_COUNT, StoreFixture, at, needs_server, note, user};
use crate::store::PostgresOpenError;

#[tokio::test(flavor = "multi_thread")]
async fn an_applications_tables_are_made_once_and_stay() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    note(&mut fixture.database.other_program().await, 1).await.unwrap();
    fixture.store.close().await;
    let again = fixture.database.options().migrations("notes", &NOTES).open().await.unwrap();
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 1);
    again.close().await;
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_with_tables_of_an_application_is_shared() {
    needs_server!();
    let database = Database::empty().await;
    database
        .says("CREATE TABLE users (name text); INSERT INTO users VALUES ('kim')")
        .await
        .unwrap();
    database.store().await.close().await;
    assert_eq!(database.count("SELECT count(*) FROM users").await, 1);
}

static BROKEN: LazyLock<Migrator> = LazyLock::new(|| {
    let sql = sqlx::SqlSafeStr::into_sql_str("CREATE TABLE half (id bigint); SELECT nothing");
    let migration = Migration::new(1, "broken".into(), MigrationType::Simple, sql, false);
    let mut migrator = Migrator { migrations: vec![migration].into(), ..Migrator::DEFAULT };
    migrator.dangerous_set_table_name("_broken_migrations");
    migrator
});

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_fails_is_named_and_leaves_the_database_free() {
    needs_server!();
    let database = Database::new().await;
    let told = database.options().migrations("songs", &BROKEN).open().await;
    let told = told.unwrap_err();
    assert!(matches!(told, PostgresOpenError::Migrations { of: "songs", .. }), "{told:?}");
    assert!(told.to_string().starts_with("failed to prepare the tables of songs in "), "{told}");
    let half = "SELECT count(*) FROM pg_class WHERE relname = 'half'";
    assert_eq!(database.count(half).await, 0);
    database.store().await.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_users_rows_in_other_tables_go_in_the_same_transaction() {
    needs_server!();
    let database = Database::new().await;
    let owned =
        "CREATE TABLE songs (owner text); INSERT INTO songs VALUES ('kim'), ('kim'), ('lee')";
    database.says(owned).await.unwrap();
    let store = database.store().await;
    let order = |tables| Forget { user: user("kim"), by: user("root"), at: at(), tables };
    let failing =
        order(vec!["DELETE FROM songs WHERE owner = $1", "DELETE FROM nowhere WHERE owner = $1"]);
    store.forget(&failing).await.unwrap_err();
    assert_eq!(database.count("SELECT count(*) FROM songs").await, 3);
    let forgotten = store.forget(&order(vec!["DELETE FROM songs WHERE owner = $1"])).await.unwrap();
    assert_eq!(forgotten.rows, 2);
    assert_eq!(database.count("SELECT count(*) FROM songs").await, 1);
    store.close().await;
}
