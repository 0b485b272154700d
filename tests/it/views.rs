//! A view of a session says up to where it goes: a reader behind it misses nothing and reads
//! nothing twice.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use madang::{
    IdempotencyKey, Limits, Session, TurnOptions,
    approval::Decision,
    event::{Content, EventCursor, EventKind, FeedCursor, SessionEvent, StreamItem, Subscription},
    session::SessionView,
};
use madang_testing::{Probe, ScriptedCompletion, ScriptedModel};
use serde_json::json;

use crate::support::{PATIENCE, TestRuntime};

const TURNS: usize = 12;

/// A model whose turns write, ask, read and say something.
fn model() -> ScriptedModel {
    ScriptedModel::repeating([
        ScriptedCompletion::call("note", &json!({ "name": "a" })),
        ScriptedCompletion::call("save", &json!({ "name": "b" })),
        ScriptedCompletion::call("search", &json!({})),
        ScriptedCompletion::text("All of that is done."),
    ])
}

/// Runs all turns, and decides about their requests.
async fn talks(session: Session, is_over: Arc<AtomicBool>) {
    let mut probe = Probe::new(session.subscribe());
    for number in 0..TURNS {
        let key = Some(IdempotencyKey::new(format!("key {number}")).unwrap());
        let options = TurnOptions { key, ..TurnOptions::default() };
        let turn = session.send_with(format!("text {number}"), options).await.unwrap();
        let request = probe.approval_request().await;
        session.decide(&request, Decision::Approve).await.unwrap();
        turn.ended().await.unwrap();
    }
    is_over.store(true, Relaxed);
}

/// Takes views while turns run, each with a reader behind it.
async fn looks(session: Session, is_over: Arc<AtomicBool>) -> Vec<(SessionView, Subscription)> {
    let mut views = Vec::new();
    while !is_over.load(Relaxed) && views.len() < 200 {
        let view = session.state().await.unwrap();
        tokio::task::yield_now().await; // time enough for the turn to go on in between
        let reader = session.subscribe_after(view.cursor).await.unwrap();
        views.push((view, reader));
    }
    views
}

/// Reads all events up to the end of the last turn. Each piece of text stands where the one before
/// it ended.
async fn heard(mut reader: Subscription, last: EventCursor) -> Vec<Arc<SessionEvent>> {
    let mut events = Vec::<Arc<SessionEvent>>::new();
    let mut said = BTreeMap::new();
    while events.last().is_none_or(|event| event.cursor < last) {
        let item = tokio::time::timeout(PATIENCE, reader.next()).await.expect("it comes in time");
        match item.expect("no reader is closed") {
            StreamItem::Event(event) => events.push(event),
            StreamItem::Text { completion, at, text } => {
                let end = said.insert(completion, at + text.len());
                assert_eq!(at, end.unwrap_or_default());
            }
            StreamItem::Thinking { .. } | StreamItem::Lagged { .. } => {}
            StreamItem::ReplayFailed | _ => panic!("the store can be read"),
        }
    }
    events
}

/// The entry that an event tells of, in words; `None` for all other events.
fn entry(event: &SessionEvent) -> Option<String> {
    let what = match &event.kind {
        EventKind::UserMessage { text, key, .. } => format!("{text} {key:?}"),
        EventKind::ModelMessage { text, .. } => text.to_string(),
        EventKind::ToolCallEnded { record } => record.id.to_string(),
        EventKind::SystemNotice { notice, .. } => format!("{notice:?}"),
        EventKind::Cleared => panic!("no chat is cleared here"),
        _ => return None,
    };
    Some(format!("{} {what}", event.cursor))
}

/// The same of the entries of a view.
fn entries(view: &SessionView) -> Vec<String> {
    let entry = |content: &Content| match content {
        Content::User { text, key, .. } => format!("{text} {key:?}"),
        Content::Model { text, .. } => text.to_string(),
        Content::ToolCall(record) => record.id.to_string(),
        Content::Notice { notice } => format!("{notice:?}"),
        Content::Cleared => panic!("no chat is cleared here"),
    };
    let messages = view.messages.iter();
    messages.map(|message| format!("{} {}", message.seq, entry(&message.content))).collect()
}

fn is_stored(event: &SessionEvent) -> bool {
    entry(event).is_some() || matches!(event.kind, EventKind::TurnEnded { .. })
}

/// Checks that the view is what was told before its cursor, and nothing of what was told behind.
fn is_what_was_told(view: &SessionView, before: &[Arc<SessionEvent>]) {
    let mut turn = None;
    let mut request = None;
    for event in before {
        match &event.kind {
            EventKind::UserMessage { .. } => turn = Some(event.turn),
            EventKind::TurnEnded { .. } => turn = None,
            EventKind::ApprovalRequested { request: asked } => request = Some(asked.call),
            EventKind::ApprovalEnded { .. } => request = None,
            _ => {}
        }
    }
    assert_eq!(view.turn, turn);
    assert_eq!(view.approval_request.as_ref().map(|request| request.call), request);
    let told: Vec<_> = before.iter().filter_map(|event| entry(event)).collect();
    assert_eq!(entries(view), told);
    let last = before.last().map_or(EventCursor::START.end(), |event| event.cursor);
    assert_eq!(view.cursor.stored, last);
}

/// Races many views against running turns, in feeds that forget soon or late.
async fn race(max_feed_events: usize) {
    // It may forget progress alone, between two stored events that a reader still finds in it.
    let forgets = max_feed_events < 100;
    let mut limits = Limits::default();
    (limits.max_feed_events, limits.suggest_clear_after) = (max_feed_events, 2);
    let test = TestRuntime::with_limits(model(), limits).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let all = session.subscribe();
    let looking: Vec<_> =
        (0..3).map(|_| tokio::spawn(looks(session.clone(), is_over.clone()))).collect();
    // Reads on all the while, so that it misses nothing.
    let entries = (TURNS * 5 + 1) as u64;
    let all = tokio::spawn(heard(all, EventCursor::of_entry(entries).end()));
    talks(session.clone(), is_over).await;
    let all = all.await.unwrap();
    let mut views = Vec::new();
    for looking in looking {
        views.extend(looking.await.unwrap());
    }
    let last = all.last().unwrap().cursor;
    let is_whole = all.iter().zip(1..).all(|(event, seq)| event.seq == seq);
    for (view, reader) in views {
        let FeedCursor { stored, published } = view.cursor;
        let (epoch, seq) = published.expect("a view says what its feed has published");
        assert_eq!(epoch, reader.epoch());
        // A view that was taken behind the end of the last turn has nothing behind it.
        let heard = if stored < last { heard(reader, last).await } else { Vec::new() };
        let kept = |events: &[Arc<SessionEvent>]| -> Vec<_> {
            events.iter().filter(|event| is_stored(event)).map(|event| event.cursor).collect()
        };
        let expected = kept(&all).into_iter().filter(|cursor| *cursor > stored);
        assert_eq!(kept(&heard), expected.collect::<Vec<_>>(), "each stored event once");
        let live: Vec<_> = heard.iter().map(|event| event.seq).filter(|seq| *seq > 0).collect();
        assert!(live.is_sorted_by(|one, next| one < next) && live.iter().all(|live| *live > seq));
        if is_whole {
            let (before, behind) = all.split_at(usize::try_from(seq).unwrap());
            is_what_was_told(&view, before);
            if heard.iter().all(|event| event.seq > 0) {
                assert!(heard.iter().all(|event| behind.contains(event)), "and nothing else");
                if !forgets {
                    assert_eq!(heard, behind, "and progress once, too");
                }
            }
        }
    }
    assert!(is_whole || forgets, "this ring forgets nothing");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn behind_a_view_nothing_is_missed_and_nothing_repeated_however_turns_run_beside_it() {
    race(100_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn behind_a_view_nothing_stored_is_missed_or_repeated_though_the_feed_forgets() {
    race(3).await;
}

#[tokio::test]
async fn a_view_names_the_turn_that_is_open_and_a_user_s_own_messages_by_their_keys() {
    let test = TestRuntime::new(model()).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let view = session.state().await.unwrap();
    assert_eq!((view.turn, view.messages.len()), (None, 0));
    let mut probe = Probe::new(session.subscribe());
    let key = IdempotencyKey::new("mine").unwrap();
    let options = TurnOptions { key: Some(key.clone()), ..TurnOptions::default() };
    let turn = session.send_with("hi", options).await.unwrap();
    let request = probe.approval_request().await;
    assert_eq!(session.state().await.unwrap().turn, Some(turn.id()));
    session.decide(&request, Decision::Deny).await.unwrap();
    turn.ended().await.unwrap();
    let _ = session.send("hi").await.unwrap();
    let again = probe.approval_request().await;
    session.decide(&again, Decision::Deny).await.unwrap();
    probe.until_turns_ended(2).await;
    let view = session.state().await.unwrap();
    assert_eq!(view.turn, None);
    let keys = |contents: Vec<Content>| -> Vec<_> {
        let key = |content| {
            let Content::User { key, .. } = content else { return None };
            Some(key)
        };
        contents.into_iter().filter_map(key).collect()
    };
    let in_view = keys(view.messages.into_iter().map(|message| message.content).collect());
    assert_eq!(in_view, [Some(key.clone()), None]);

    let is_message =
        |event: &&Arc<SessionEvent>| matches!(event.kind, EventKind::UserMessage { .. });
    let line = |event: &Arc<SessionEvent>| {
        let json = serde_json::to_value(&event.kind).unwrap();
        assert_eq!(serde_json::from_value::<EventKind>(json.clone()).unwrap(), event.kind);
        json.to_string()
    };
    let lines: Vec<_> = probe.events().iter().filter(is_message).map(line).collect();
    let expected = [
        r#"{"type":"user_message","text":"hi","key":"mine"}"#,
        r#"{"type":"user_message","text":"hi"}"#,
    ];
    assert_eq!(lines, expected);
    test.shutdown().await;
}
