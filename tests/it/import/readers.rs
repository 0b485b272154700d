//! Readers get an imported history as events with cursors, live, later and after a restart; and it
//! is forgotten.
#![cfg(feature = "sqlite")]

use std::path::Path;

use madang::{
    Limits, Runtime, Session,
    event::{EventCursor, EventKind, SessionEvent, StreamItem, Subscription},
    ledger::Forget,
    store::{SqliteStore, Store as _},
};
use madang_testing::{ScriptedCompletion, ScriptedModel};
use serde_json::Value;

use super::{HISTORY, history, messages, words};
use crate::support::{PATIENCE, kim};

async fn runtime(path: &Path) -> Runtime {
    let mut limits = Limits::default();
    limits.max_feed_events = 3; // fewer than the history has
    Runtime::builder()
        .model(ScriptedModel::repeating([ScriptedCompletion::text("Hello.")]))
        .store(SqliteStore::open(path).await.unwrap())
        .limits(limits)
        .start()
        .await
        .unwrap()
}

/// Reads until this many turns have ended.
async fn read(reader: &mut Subscription, turns: usize) -> Vec<SessionEvent> {
    let mut events = Vec::new();
    let mut ended = 0;
    while ended < turns {
        let item = tokio::time::timeout(PATIENCE, reader.next()).await.expect("it comes in time");
        let Some(StreamItem::Event(event)) = item else { continue };
        ended += usize::from(matches!(event.kind, EventKind::TurnEnded { .. }));
        // A reader that lagged reads from the store, where no event has a number.
        events.push(SessionEvent { seq: 0, ..(*event).clone() });
    }
    events
}

async fn from(session: &Session, cursor: &str, turns: usize) -> Vec<SessionEvent> {
    let cursor: EventCursor = cursor.parse().unwrap();
    read(&mut session.subscribe_after(cursor).await.unwrap(), turns).await
}

#[tokio::test]
async fn a_history_is_told_alike_live_and_later_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("import.db");
    let first = runtime(&path).await;
    let session = first.user("kim").unwrap().session("s").await.unwrap();
    let mut live = session.subscribe();
    session.import(history()).await.unwrap();
    let told = read(&mut live, 1).await;
    let cursors: Vec<_> = told.iter().map(|event| event.cursor.to_string()).collect();
    assert_eq!(cursors, ["1", "2", "3", "4", "4.2"]);
    assert_eq!(from(&session, "0", 1).await, told);
    session.send("hi").await.unwrap().ended().await.unwrap();
    first.shutdown().await.unwrap();
    drop((session, live, first));

    let second = runtime(&path).await;
    let session = second.user("kim").unwrap().session("s").await.unwrap();
    assert!(session.turn().await.unwrap().is_none(), "no turn of it goes on");
    assert_eq!(words(&messages(&session).await)[..4], HISTORY);
    let all = from(&session, "0", 2).await;
    assert_eq!(all[..5], told);
    assert_eq!(from(&session, "2", 2).await, all[2..]);
    assert_eq!(from(&session, "4", 2).await, all[4..]);
    assert_eq!(from(&session, "4.2", 1).await, all[5..]);
    let turns = |events: &[SessionEvent]| events.iter().all(|event| event.turn == told[0].turn);
    assert!(turns(&told) && !turns(&all));
    second.shutdown().await.unwrap();
}

#[tokio::test]
async fn an_event_says_its_origin_only_where_it_was_imported() {
    let store = SqliteStore::in_memory().await.unwrap();
    let model = ScriptedModel::repeating([ScriptedCompletion::text("Hello.")]);
    let runtime = Runtime::builder().model(model).store(store).start().await.unwrap();
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    session.import(history()).await.unwrap();
    session.send("hi").await.unwrap().ended().await.unwrap();
    let events: Vec<Value> = from(&session, "0", 2)
        .await
        .iter()
        .map(|event| serde_json::to_value(event).unwrap())
        .collect();
    let origins: Vec<_> =
        events.iter().map(|event| (event["type"].as_str().unwrap(), event.get("origin"))).collect();
    let imported = Value::from("imported");
    let [user, model] = ["user_message", "model_message"];
    assert_eq!(
        origins,
        [
            (user, Some(&imported)),
            (model, Some(&imported)),
            (user, Some(&imported)),
            (model, Some(&imported)),
            ("turn_ended", None),
            (user, None),
            (model, None),
            ("turn_ended", None),
        ]
    );
    for (event, message) in
        events.iter().filter(|event| event.get("text").is_some()).zip(messages(&session).await)
    {
        let entry = serde_json::to_value(message).unwrap();
        assert_eq!((event.get("origin"), &event["text"]), (entry.get("origin"), &entry["text"]));
    }
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_forgotten_user_leaves_nothing_of_a_history() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("import.db");
    let first = runtime(&path).await;
    let session = first.user("kim").unwrap().session("s").await.unwrap();
    session.import(history()).await.unwrap();
    first.shutdown().await.unwrap();
    drop((session, first));

    let store = SqliteStore::open(&path).await.unwrap();
    let at = madang::Timestamp::from_millis(1);
    let order = Forget { user: kim(), by: kim(), at, tables: Vec::new() };
    let forgotten = store.forget(&order).await.unwrap();
    assert_eq!((forgotten.sessions, forgotten.messages, forgotten.calls), (1, 4, 0));
    assert_eq!(store.owner(&madang::SessionId::new("s").unwrap()).await.unwrap(), None);
    drop(store);
    let bytes = std::fs::read(&path).unwrap();
    let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(!holds("I like tea"));
}
