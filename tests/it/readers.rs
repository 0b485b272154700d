//! Any number of readers, each at its own pace: one that leaves comes back to where it was, also
//! after a restart.
#![cfg(feature = "sqlite")]

use madang::{
    IdempotencyKey, Limits, Runtime, Session, TurnOptions,
    event::{EntryOrigin, EventCursor, EventKind, FeedCursor, StreamItem, Subscription},
    store::SqliteStore,
};
use madang_testing::{ScriptedCompletion, ScriptedModel};

use crate::support::PATIENCE;

async fn runtime(path: &std::path::Path) -> Runtime {
    let limits = Limits { max_feed_events: 3, ..Limits::default() };
    Runtime::builder()
        .model(ScriptedModel::repeating([ScriptedCompletion::text("Hello.")]))
        .store(SqliteStore::open(path).await.unwrap())
        .limits(limits)
        .start()
        .await
        .unwrap()
}

async fn talk(session: &Session, text: &str) {
    session.send(text).await.unwrap().ended().await.unwrap();
}

/// Reads until this many turns have ended, as lines; and the cursor behind the last.
async fn read(reader: &mut Subscription, turns: usize) -> (Vec<String>, EventCursor) {
    let mut lines = Vec::new();
    let mut ended = 0;
    let mut last = EventCursor::START;
    while ended < turns {
        let item = tokio::time::timeout(PATIENCE, reader.next()).await.expect("it comes in time");
        let Some(StreamItem::Event(event)) = item else { continue };
        let what = if let EventKind::UserMessage { text, .. }
        | EventKind::ModelMessage { text, .. } = &event.kind
        {
            &**text
        } else {
            assert!(matches!(event.kind, EventKind::TurnEnded { .. }), "{event:?}");
            "ended"
        };
        ended += usize::from(what == "ended");
        lines.push(format!("{} {what}", event.cursor));
        last = event.cursor;
    }
    (lines, last)
}

#[tokio::test]
async fn a_reader_goes_on_where_it_was_after_a_restart_and_over_what_is_not_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("readers.db");
    let first = runtime(&path).await;
    let session = first.user("kim").unwrap().session("s").await.unwrap();
    let mut reader = session.subscribe();
    talk(&session, "one").await;
    let (lines, cursor) = read(&mut reader, 1).await;
    assert_eq!(lines, ["1 one", "2 Hello.", "2.2 ended"]);
    talk(&session, "two").await;
    first.shutdown().await.unwrap();
    drop((session, reader, first));

    let second = runtime(&path).await;
    let session = second.user("kim").unwrap().session("s").await.unwrap();
    let cursor: EventCursor = cursor.to_string().parse().unwrap();
    let mut reader = session.subscribe_after(cursor).await.unwrap();
    let mut late = session.subscribe_after(EventCursor::START).await.unwrap();
    talk(&session, "three").await;
    talk(&session, "four").await;
    let (lines, _) = read(&mut reader, 3).await;
    let missed = ["3 two", "4 Hello.", "4.2 ended"];
    let since = ["5 three", "6 Hello.", "6.2 ended", "7 four", "8 Hello.", "8.2 ended"];
    assert_eq!(lines, [&missed[..], &since].concat());
    let before = ["1 one", "2 Hello.", "2.2 ended"];
    assert_eq!(read(&mut late, 4).await.0, [&before[..], &missed, &since].concat());
    second.shutdown().await.unwrap();
}

#[tokio::test]
async fn after_a_restart_a_cursor_of_another_feed_counts_as_stored_and_messages_have_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("readers.db");
    let first = runtime(&path).await;
    let session = first.user("kim").unwrap().session("s").await.unwrap();
    let mut events = {
        let key = Some(IdempotencyKey::new("mine").unwrap());
        let options = TurnOptions { key, ..TurnOptions::default() };
        session.send_with("one", options).await.unwrap().events()
    };
    let epoch = events.epoch();
    let mut cursor = FeedCursor::default();
    while let Some(item) = events.next().await {
        if let StreamItem::Event(event) = item {
            cursor = FeedCursor::after(&event, epoch);
        }
    }
    assert_eq!(cursor.to_string(), format!("2.2@{epoch}.3"));
    talk(&session, "two").await;
    first.shutdown().await.unwrap();
    drop((session, events, first));

    let second = runtime(&path).await;
    let session = second.user("kim").unwrap().session("s").await.unwrap();
    let cursor: FeedCursor = cursor.to_string().parse().unwrap();
    let mut reader = session.subscribe_after(cursor).await.unwrap();
    assert_ne!(reader.epoch(), epoch);
    talk(&session, "three").await;
    let (lines, _) = read(&mut reader, 2).await;
    assert_eq!(lines, ["3 two", "4 Hello.", "4.2 ended", "5 three", "6 Hello.", "6.2 ended"]);
    let mut late = session.subscribe_after(EventCursor::START).await.unwrap();
    let Some(StreamItem::Event(event)) = late.next().await else { panic!("an event is stored") };
    let key = Some(IdempotencyKey::new("mine").unwrap());
    assert_eq!(
        event.kind,
        EventKind::UserMessage { text: "one".into(), key, origin: EntryOrigin::Chat }
    );
    assert_eq!(FeedCursor::after(&event, late.epoch()).to_string(), "1", "it was read");
    let view = session.state().await.unwrap();
    assert_eq!(view.cursor.to_string(), format!("6.2@{}.3", late.epoch()));
    second.shutdown().await.unwrap();
}
