//! Tests that an audit reads all that exists and believes nothing of it.

use madang_actors::port::Damaged;

use super::support::{StoreFixture, record, session, vandal};
use crate::store::SchemaFault;

#[tokio::test]
async fn sessions_with_any_rows_left_are_listed_once_and_in_order() {
    let fixture = StoreFixture::new().await;
    for name in ["d", "b", "c", "a"] {
        fixture.chat(name).await;
    }
    for name in ["b", "c", "d"] {
        fixture.handle.write(record(name, 1)).await.unwrap();
    }
    let mut db = vandal(&fixture).await;
    for (table, name) in
        [("sessions", "b"), ("sessions", "c"), ("calls", "b"), ("transitions", "c")]
    {
        let sql = format!("DELETE FROM madang_{table} WHERE session = '{name}'");
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut db).await.unwrap();
    }
    let recorded = fixture.store.recorded_sessions().await.unwrap();
    assert_eq!(recorded, ["a", "b", "c", "d"].map(session));
    for id in &recorded {
        assert!(fixture.store.session_ledger(id).await.unwrap().is_some(), "{id}");
    }
    assert_eq!(fixture.store.session_ledger(&session("e")).await.unwrap(), None);
    fixture.close().await;
}

#[tokio::test]
async fn a_link_that_is_not_as_it_was_written_is_damaged() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.handle.write(record("s", 1)).await.unwrap();
    let mut db = vandal(&fixture).await;
    let damaged = async |fixture: &StoreFixture| {
        let ledger = fixture.store.session_ledger(&session("s")).await.unwrap().unwrap();
        ledger.links.into_iter().filter_map(Result::err).collect::<Vec<_>>()
    };
    assert_eq!(damaged(&fixture).await, []);
    let link = |position: u64| Damaged { what: format!("transition {position}") };
    let its = "WHERE session = 's' AND position =";
    for (what, undone, position) in [
        ("transition = transition || ' '", "transition = trim(transition)", 2),
        ("step = 'ended'", "step = 'running'", 2),
        ("position = 7", "position = 3", 3),
    ] {
        let mut update = async |set: &str, position: u64| {
            let sql = format!("UPDATE madang_transitions SET {set} {its} {position}");
            let done = sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut db).await.unwrap();
            assert_eq!(done.rows_affected(), 1, "{set}");
        };
        update(what, position).await;
        assert_eq!(damaged(&fixture).await, [link(position)], "{what}");
        update(undone, if what.starts_with("position") { 7 } else { position }).await;
        assert_eq!(damaged(&fixture).await, [], "{undone}");
    }
    fixture.close().await;
}

#[tokio::test]
async fn each_table_index_and_trigger_that_is_not_the_stores_own_is_named() {
    let fixture = StoreFixture::new().await;
    assert_eq!(fixture.store.schema_faults().await.unwrap(), []);
    let mut db = fixture.other_program().await;
    for sql in [
        "CREATE TABLE songs (title TEXT)",
        "CREATE TRIGGER of_songs AFTER INSERT ON songs BEGIN SELECT 1; END",
        "DROP TRIGGER madang_calls_follow_the_ledger",
        "DROP INDEX madang_open_calls",
        "CREATE INDEX madang_open_calls ON madang_calls (number)",
        "CREATE TRIGGER theirs AFTER INSERT ON madang_messages BEGIN SELECT 1; END",
    ] {
        sqlx::query(sql).execute(&mut db).await.unwrap();
    }
    let of = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
    let (kind, name) = of("trigger", "madang_calls_follow_the_ledger");
    let missing = SchemaFault::Missing { kind, name };
    let (kind, name) = of("index", "madang_open_calls");
    let changed = SchemaFault::Changed { kind, name };
    let (kind, name) = of("trigger", "theirs");
    let added = SchemaFault::Added { kind, name };
    assert_eq!(fixture.store.schema_faults().await.unwrap(), [changed, missing, added]);
    drop(db);
    fixture.close().await;
}

#[tokio::test]
async fn calls_come_in_the_order_of_their_proposals() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    for number in [2, 3, 1] {
        fixture.handle.write(record("s", number)).await.unwrap();
    }
    let ledger = fixture.store.session_ledger(&session("s")).await.unwrap().unwrap();
    let numbers: Vec<_> = ledger.calls.iter().map(|call| call.as_ref().unwrap().seq).collect();
    assert_eq!(numbers, [2, 3, 1]);
    fixture.close().await;
}
