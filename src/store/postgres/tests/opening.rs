//! Tests servers and databases that are refused, each with a sentence.

use madang_actors::{ledger::SealKeys, port::Store as _};
use tokio::net::TcpListener;

use super::support::{Database, KEYS, address, needs_server, run};
use crate::store::{PostgresOpenError, PostgresStore};

async fn refusal(url: &str) -> PostgresOpenError {
    PostgresStore::options(url).seal_keys(KEYS.clone()).open().await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_url_is_told_as_such() {
    let told = refusal("/a/path.db").await;
    assert!(matches!(told, PostgresOpenError::Url { .. }), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_told_without_the_password() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let told = refusal(&format!("postgres://kim:secret@127.0.0.1:{port}/app")).await;
    assert!(matches!(told, PostgresOpenError::Unreachable { .. }), "{told:?}");
    let sentence = format!(
        "failed to reach the database 127.0.0.1:{port}/app; check that its server runs, and the URL"
    );
    assert_eq!(told.to_string(), sentence);
    assert!(!format!("{told:?}").contains("secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_or_a_user_that_is_not_there_is_told_as_such() {
    needs_server!();
    let told = refusal(&format!("{}/nowhere", address())).await;
    assert!(matches!(told, PostgresOpenError::Missing { .. }), "{told:?}");
    let nobody = address().replace("postgres@", "nobody@");
    let told = refusal(&format!("{nobody}/postgres")).await;
    assert!(matches!(told, PostgresOpenError::Denied { .. }), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_is_refused() {
    needs_server!();
    let database = Database::new().await;
    database.says("INSERT INTO madang.migrations VALUES (1000, '')").await.unwrap();
    let told = refusal(&database.url).await;
    assert!(matches!(told, PostgresOpenError::Newer { .. }), "{told:?}");
    database.says("DELETE FROM madang.migrations WHERE version = 1000").await.unwrap();
    database.store().await.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_another_program_is_refused_and_stays_as_it_is() {
    needs_server!();
    for theirs in
        ["CREATE TABLE madang.songs (id bigint)", "CREATE TABLE madang.migrations (id bigint)"]
    {
        let database = Database::empty().await;
        database.says(&format!("CREATE SCHEMA madang; {theirs}")).await.unwrap();
        let told = refusal(&database.url).await;
        assert!(matches!(told, PostgresOpenError::Foreign { .. }), "{told:?}");
        let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'madang'";
        assert_eq!(database.count(tables).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_another_program_made_of_this_version_are_refused() {
    needs_server!();
    let database = Database::new().await;
    database.says("UPDATE madang.migrations SET hash = '' WHERE version = 2").await.unwrap();
    let told = refusal(&database.url).await;
    assert!(matches!(told, PostgresOpenError::Changed { version: 2, .. }), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_set_to_read_only_is_refused() {
    needs_server!();
    let database = Database::new().await;
    let sets = format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name());
    database.says(&sets).await.unwrap();
    let told = refusal(&database.url).await;
    assert!(matches!(told, PostgresOpenError::ReadOnly { .. }), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_another_encoding_is_refused() {
    needs_server!();
    let database =
        Database::made("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0").await;
    let told = refusal(&database.url).await;
    assert!(matches!(told, PostgresOpenError::Encoding { .. }), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_whose_keys_are_not_here_is_refused() {
    needs_server!();
    let database = Database::new().await;
    let others = SealKeys::for_this_process().unwrap();
    let told =
        PostgresStore::options(database.url.as_str()).seal_keys(others).open().await.unwrap_err();
    assert!(matches!(told, PostgresOpenError::SealKeyMissing { keys: None, .. }), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_on_the_disk_whatever_the_database_is_set_to() {
    needs_server!();
    let database = Database::new().await;
    for (set, found) in [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")] {
        let sets = format!("ALTER DATABASE {} SET synchronous_commit = {set}", database.name());
        database.says(&sets).await.unwrap();
        let store = database.store().await;
        let mut transaction = store.begin().await.unwrap();
        transaction.savepoint(None).await.unwrap();
        let db: &mut sqlx::PgConnection = transaction.connection().downcast_mut().unwrap();
        let shows: String =
            sqlx::query_scalar("SHOW synchronous_commit").fetch_one(&mut *db).await.unwrap();
        assert_eq!(shows, found, "{set}");
        // A borrower changes it for itself alone.
        run(db, "SET synchronous_commit = off").await.unwrap();
        transaction.keep().await.unwrap();
        transaction.commit().await.unwrap();
        let mut transaction = store.begin().await.unwrap();
        transaction.savepoint(None).await.unwrap();
        let db: &mut sqlx::PgConnection = transaction.connection().downcast_mut().unwrap();
        let shows: String =
            sqlx::query_scalar("SHOW synchronous_commit").fetch_one(db).await.unwrap();
        assert_eq!(shows, found, "the next one");
        drop(transaction);
        store.close().await;
    }
}
