//! Tests that one process at a time writes a database, and that a former one writes nothing.

use std::error::Error as _;

use madang_actors::{
    port::{Forget, Store as _, StoreError, Write},
    store::Keep,
};
use sqlx::Connection as _;

use super::{
    super::{changes::Changes, error::code, own::Own},
    proxy::Proxy,
    support::{
        ENDED, KEYS, NOTES_COUNT, PATIENCE, StoreFixture, at, db, needs_server, note, opening,
        record, say, session, user,
    },
};
use crate::store::{PostgresOpenError, PostgresStore};

const MESSAGES: &str = "SELECT count(*) FROM madang.messages";

/// Ends the connection that has the lock, as a failing network does.
async fn take_the_lock_away(fixture: &StoreFixture) {
    let ends = "SELECT count(pg_terminate_backend(pid)) FROM pg_locks \
                WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    assert_eq!(fixture.database.count(ends).await, 1);
}

fn is_told_of_the_other(error: &StoreError) {
    assert!(matches!(error, StoreError::Unavailable { .. }), "nothing was written: {error:?}");
    let cause = error.source().unwrap().to_string();
    assert_eq!(cause, "another process has taken the database over: end this one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_store_is_refused_until_the_first_is_closed() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    let second = fixture.database.options().open().await;
    assert!(matches!(second, Err(PostgresOpenError::Held { .. })), "{second:?}");
    fixture.store.close().await;
    fixture.database.store().await.close().await;
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_lost_its_connections_takes_the_lock_again() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let ends = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
    assert!(fixture.database.count(ends).await >= 2);
    fixture.handle.write(say("s", 1)).await.unwrap();
    let second = fixture.database.options().open().await;
    assert!(matches!(second, Err(PostgresOpenError::Held { .. })), "{second:?}");
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_hangs_on_a_broken_way_is_taken_back() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.store.close().await;
    let proxy = Proxy::new().await;
    let url = proxy.url(&fixture.database);
    let keys = fixture.store.keys().clone();
    let store = PostgresStore::options(url).seal_keys(keys).open().await.unwrap();
    proxy.cut();
    let mut transaction = store.begin().await.expect("the server still has its side of it");
    transaction.write(&say("s", 1)).await.unwrap();
    transaction.commit().await.unwrap();
    store.close().await;
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_whose_database_was_taken_over_writes_nothing() {
    needs_server!();
    // Each by a process whose writing connection is as it was.
    for writes in [say("s", 2), opening("t", "kim"), opening("u", "lee")] {
        let fixture = StoreFixture::new().await;
        fixture.chat("s").await;
        take_the_lock_away(&fixture).await;
        let next = fixture.database.store().await;
        is_told_of_the_other(&fixture.handle.write(writes).await.unwrap_err());
        is_told_of_the_other(&fixture.handle.write(say("s", 3)).await.unwrap_err());
        assert_eq!(fixture.database.count(MESSAGES).await, 0);
        assert_eq!(fixture.database.count("SELECT count(*) FROM madang.sessions").await, 1);
        let mut transaction = next.begin().await.unwrap();
        transaction.write(&say("s", 2)).await.unwrap();
        transaction.commit().await.unwrap();
        next.close().await;
        fixture.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_former_process_deletes_and_forgets_nothing() {
    needs_server!();
    for forgets in [false, true] {
        let fixture = StoreFixture::new().await;
        fixture.handle.write(vec![opening("s", "kim").swap_remove(0)]).await.unwrap();
        take_the_lock_away(&fixture).await;
        let next = fixture.database.store().await;
        if forgets {
            let order =
                Forget { user: user("kim"), by: user("root"), at: at(), tables: Vec::new() };
            assert!(fixture.store.forget(&order).await.is_err());
        } else {
            let deleted = Write::Deleted { session: session("s"), user: user("kim"), at: at() };
            is_told_of_the_other(&fixture.handle.write(vec![deleted]).await.unwrap_err());
        }
        assert!(next.owner(&session("s")).await.unwrap().is_some());
        next.close().await;
        fixture.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_of_a_former_process_writes_nothing_with_or_without_a_record() {
    needs_server!();
    for writes in [record("s", 1), Vec::new()] {
        let fixture = StoreFixture::new().await;
        fixture.chat("s").await;
        take_the_lock_away(&fixture).await;
        let next = fixture.database.store().await;
        let mut lease = fixture.lease().await;
        note(db(&mut lease), 1).await.unwrap();
        is_told_of_the_other(&lease.end(Keep::Keep, writes).await.unwrap_err());
        assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
        assert_eq!(fixture.database.count(ENDED).await, 0);
        next.close().await;
        fixture.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_function_that_writes_asks_for_the_claim_by_itself() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let mut changes = Changes::default();
    changes.users.user.push("kim".to_owned());
    changes.users.bytes.push(0);
    changes.sessions.session.push("s".to_owned());
    changes.sessions.last_at.push(None);
    changes.sessions.title.push(Some("forged".to_owned()));
    changes.sessions.is_temporary.push(false);
    let mut other = fixture.database.other_program().await;
    let mut own = Own { db: &mut other, keys: &KEYS, mark: "" };
    let told = changes.write(&mut own, uuid::Uuid::nil()).await.unwrap_err();
    assert_eq!(code(&told).as_deref(), Some("MD001"));
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_of_a_former_process_commits_nothing() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let mut lease = fixture.lease().await;
    note(db(&mut lease), 1).await.unwrap();
    take_the_lock_away(&fixture).await;
    let next = fixture.database.store().await;
    assert!(lease.end(Keep::Keep, record("s", 1)).await.is_err());
    assert_eq!(fixture.database.count(NOTES_COUNT).await, 0);
    next.close().await;
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_a_database_over_waits_for_a_commit_that_is_under_way() {
    needs_server!();
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let new: Vec<Write> = opening("n", "new");
    for (writes, sql) in [(say("s", 1), MESSAGES), (new, "SELECT count(*) FROM madang.users")] {
        let before = fixture.database.count(sql).await;
        let mut transaction = fixture.store.begin().await.unwrap();
        transaction.write(&writes).await.unwrap();
        take_the_lock_away(&fixture).await;
        let options = fixture.database.options();
        let next = tokio::spawn(async move { options.open().await.unwrap() });
        fixture.database.until(waits).await;
        transaction.commit().await.unwrap();
        let next = tokio::time::timeout(PATIENCE, next).await.unwrap().unwrap();
        assert_eq!(fixture.database.count(sql).await, before + 1);
        let unclaimed =
            "SELECT count(*) FROM madang.users WHERE node <> (SELECT max(node) FROM madang.nodes)";
        assert_eq!(fixture.database.count(unclaimed).await, 0);
        // The first store takes the database back for the next round.
        next.close().await;
        let mut db = fixture.database.other_program().await;
        sqlx::query("UPDATE madang.users SET claim = $1")
            .bind(fixture.store.0.claim.claim)
            .execute(&mut db)
            .await
            .unwrap();
        sqlx::query(
            "INSERT INTO madang.nodes (node, program) OVERRIDING SYSTEM VALUE VALUES ($1, '')",
        )
        .bind(fixture.store.0.claim.node)
        .execute(&mut db)
        .await
        .unwrap();
        db.close().await.unwrap();
        fixture.store.0.claim.confirm().await.unwrap();
    }
    assert!(fixture.store.session(&session("n")).await.unwrap().is_some());
    fixture.close().await;
}
