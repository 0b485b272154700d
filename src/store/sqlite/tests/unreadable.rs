//! Tests that an unreadable row or an unstorable value harms no other.

use madang_actors::{
    ledger::{CallState, Ended, Transition},
    port::{LedgerFilter, LedgerRow, PartSize, Store, StoreError, Write},
    protocol::{Content, Notice, ToolOutcome},
};
use madang_testing::hostile::lists;
use serde_json::json;

use super::support::{StoreFixture, change, record, say, session, vandal};
use crate::store::sqlite::error::of_write;

async fn rows(fixture: &StoreFixture, filter: LedgerFilter) -> Vec<LedgerRow> {
    fixture.store.calls(&filter).await.unwrap()
}

#[tokio::test]
async fn a_row_that_cannot_be_read_says_so_and_hides_no_other() {
    let fixture = StoreFixture::new().await;
    for name in ["a", "b"] {
        fixture.chat(name).await;
        fixture.handle.write(record(name, 1)).await.unwrap();
        fixture.handle.write(say(name, 2)).await.unwrap();
    }
    let before = rows(&fixture, LedgerFilter::default()).await;
    let mut db = vandal(&fixture).await;
    let deep = json!({ "status": "ok" }).to_string().replace('}', ",\"data\":")
        + &"[".repeat(126)
        + &"]".repeat(126)
        + "}";
    let sql = "UPDATE madang_calls SET outcome = $1 WHERE session = 'a'";
    change(&mut db, sql, &format!("[{deep}]")).await;
    change(&mut db, "UPDATE madang_calls SET arguments = $1 WHERE session = 'a'", "{").await;

    let after = rows(&fixture, LedgerFilter::default()).await;
    assert_eq!(after[1], before[1], "the other is as it was");
    assert_eq!(after[0].unreadable, ["arguments", "outcome"]);
    assert_eq!(after[0].outcome.as_ref().and_then(ToolOutcome::code), Some("unreadable"));
    assert_eq!(after[0].arguments, json!("{}").into(), "the raw text");
    assert_eq!((after[0].call, after[0].effect), (before[0].call, before[0].effect));
    let only = LedgerFilter::default().in_session(&session("a"));
    assert_eq!(rows(&fixture, only).await, after[..1]);

    let stored = fixture.store.session(&session("a")).await.unwrap().unwrap();
    let [call, said] = &stored.messages[..] else { panic!("{stored:?}") };
    assert!(matches!(&said.content, Content::User { .. }));
    let Content::ToolCall(record) = &call.content else { panic!("{call:?}") };
    assert_eq!(record.outcome.as_ref().and_then(ToolOutcome::code), Some("unreadable"));
    let part = fixture.store.transcript(&session("a"), 1, PartSize::ALL).await.unwrap();
    let entries: Vec<_> = part.entries.iter().map(|entry| &entry.message).collect();
    assert_eq!(entries, stored.messages.iter().collect::<Vec<_>>());

    let ledger = fixture.store.session_ledger(&session("a")).await.unwrap().unwrap();
    assert!(ledger.audit(None, None).is_err(), "it is no secret");
    fixture.close().await;
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_is_a_notice_in_its_place() {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    fixture.handle.write(say("s", 1)).await.unwrap();
    fixture.handle.write(say("s", 2)).await.unwrap();
    let mut db = vandal(&fixture).await;
    change(&mut db, "UPDATE madang_messages SET content = $1 WHERE seq = 1", "{\"role\":7}").await;
    let stored = fixture.store.session(&session("s")).await.unwrap().unwrap();
    let [lost, said] = &stored.messages[..] else { panic!("{stored:?}") };
    assert_eq!(lost.content, Content::Notice { notice: Notice::Unreadable });
    assert_eq!((lost.seq, said.seq), (1, 2));
    assert!(matches!(&said.content, Content::User { .. }));
    fixture.close().await;
}

#[tokio::test]
async fn a_row_without_its_ids_is_left_out_of_the_whole_and_never_taken_for_none() {
    let fixture = StoreFixture::new().await;
    for name in ["a", "b"] {
        fixture.chat(name).await;
        fixture.handle.write(record(name, 1)).await.unwrap();
    }
    let mut db = vandal(&fixture).await;
    change(&mut db, "UPDATE madang_calls SET state = $1 WHERE session = 'a'", "elsewhere").await;
    let all = rows(&fixture, LedgerFilter::default()).await;
    assert_eq!(all.iter().map(|row| row.session.as_str()).collect::<Vec<_>>(), ["b"]);
    let one = LedgerFilter::default().in_session(&session("a"));
    assert!(fixture.store.calls(&one).await.is_err());
    fixture.close().await;
}

#[tokio::test]
async fn the_next_step_of_a_call_that_cannot_be_read_spoils_no_other_job() {
    let fixture = StoreFixture::new().await;
    for name in ["a", "b"] {
        fixture.chat(name).await;
    }
    let mut steps = record("a", 1);
    let ended = steps.pop().unwrap();
    fixture.handle.write(steps).await.unwrap();
    let mut db = vandal(&fixture).await;
    change(&mut db, "UPDATE madang_calls SET arguments = $1 WHERE session = 'a'", "{").await;
    let lease = fixture.lease("before").await;
    let jobs = [say("b", 1), vec![ended], say("b", 2)];
    let waiting = jobs.map(|job| fixture.handle.begin_write(job));
    drop(lease);
    let [one, refused, two] = waiting;
    assert!(matches!(refused.await, Err(StoreError::Refused { .. })));
    assert!(one.await.is_ok() && two.await.is_ok());
    let standing = rows(&fixture, LedgerFilter::open_calls()).await;
    assert_eq!(standing[0].state, CallState::Running);
    fixture.close().await;
}

/// Comes as one job of a group while the writer is busy.
#[tokio::test]
async fn a_result_of_1100_levels_spoils_no_other_job() {
    let fixture = StoreFixture::new().await;
    for name in ["a", "b"] {
        fixture.chat(name).await;
    }
    let mut steps = record("a", 1);
    let Some(Write::Call { session, call, at, transition: Transition::Ended(ended) }) = steps.pop()
    else {
        panic!("a record ends")
    };
    fixture.handle.write(steps).await.unwrap();
    let ended = Ended { outcome: ToolOutcome::ok(lists(1_100)), ..ended };
    let deep = Write::Call { session, call, at, transition: Transition::Ended(ended) };
    let lease = fixture.lease("before").await;
    let waiting = [say("b", 1), vec![deep], say("b", 2)].map(|job| fixture.handle.begin_write(job));
    drop(lease);
    let [one, refused, two] = waiting;
    assert!(matches!(refused.await, Err(StoreError::Refused { .. })));
    assert!(one.await.is_ok() && two.await.is_ok());
    fixture.close().await;
}

#[tokio::test]
async fn what_sqlite_cannot_do_with_a_value_is_a_refusal_of_that_write() {
    let fixture = StoreFixture::new().await;
    let mut db = vandal(&fixture).await;
    let deep = "[".repeat(1_100) + &"]".repeat(1_100);
    for (sql, value) in
        [("SELECT $1 ->> '$.state'", deep.as_str()), ("SELECT zeroblob(2000000000) || $1", "")]
    {
        let error = sqlx::query(sql).bind(value).execute(&mut db).await.unwrap_err();
        let told = of_write(error, || "a write".into());
        assert!(matches!(told, StoreError::Refused { .. }), "{sql}: {told:?}");
    }
    let error = sqlx::query("SELECT nowhere").execute(&mut db).await.unwrap_err();
    assert!(matches!(of_write(error, String::new), StoreError::Unavailable { .. }));
    fixture.close().await;
}
