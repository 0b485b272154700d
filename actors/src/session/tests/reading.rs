//! Readers that are slow, and readers that leave and come back: they miss nothing that the store
//! keeps, and read nothing twice.

use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use serde_json::json;
use tokio::sync::oneshot;

use super::asleep;
use crate::{
    port::{PartSize, Store},
    protocol::{
        EventCursor, EventKind, FeedCursor, Limits, SessionEvent, Timestamp, TurnEnding, TurnId,
    },
    session::{Durability, SessionMsg, SessionRequest, SessionSlot, StreamItem, Subscription},
    test_runtime::{TestRuntime, in_time},
    testing::{FakeTool, Probe, ScriptedCompletion, ScriptedModel, model_pair},
};

/// Starts a runtime whose feeds forget soon, and whose sessions sleep when they are told to.
pub(super) async fn runtime(max_feed_events: usize) -> TestRuntime {
    let limits = Limits { max_feed_events, ..Limits::default() };
    let script = [
        ScriptedCompletion::call("look", &json!({})),
        ScriptedCompletion::text("Seen."),
        ScriptedCompletion::text("Hello."),
        ScriptedCompletion::error("Offline"),
    ];
    let model = ScriptedModel::repeating(script);
    TestRuntime::with_tools(limits, model, [FakeTool::read("look")]).await
}

pub(super) fn subscribe(runtime: &TestRuntime, slot: &Arc<SessionSlot>) -> Subscription {
    slot.subscribe(&runtime.handles.calls)
}

pub(super) async fn come_back(
    runtime: &TestRuntime,
    slot: &Arc<SessionSlot>,
    cursor: impl Into<FeedCursor>,
) -> Subscription {
    runtime.state(slot).await; // so that it is awake
    slot.subscribe_after(cursor, &runtime.handles.calls)
}

pub(super) async fn turn(runtime: &TestRuntime, slot: &Arc<SessionSlot>) {
    in_time(runtime.ask(slot, "hi").await.unwrap()).await.unwrap();
}

pub(super) async fn sleep(runtime: &TestRuntime, slot: &Arc<SessionSlot>) {
    let (reply, sleeps) = oneshot::channel();
    runtime.state(slot).await;
    if let Some(session) = slot.awake() {
        assert!(session.cast(SessionMsg::Sleep { reply }).is_ok());
    }
    in_time(sleeps).await.unwrap();
    in_time(asleep(slot)).await;
}

/// What the store keeps, among all that is told.
pub(super) fn is_kept(event: &SessionEvent) -> bool {
    !matches!(
        event.kind,
        EventKind::ToolCallProposed { .. }
            | EventKind::ApprovalRequested { .. }
            | EventKind::ApprovalEnded { .. }
            | EventKind::MessagesLeftOut { .. }
            | EventKind::TurnResumed
            | EventKind::TurnInterrupted { .. }
            | EventKind::ToolCallResolved { .. }
    )
}

/// Reads on up to the cursor, or as many items as are allowed.
async fn read(
    from: &mut Subscription,
    to: EventCursor,
    mut items: usize,
    into: &mut Vec<(EventCursor, EventKind)>,
) {
    while items > 0 && into.last().is_none_or(|(cursor, _)| *cursor < to) {
        items -= 1;
        match in_time(from.next()).await.expect("the screen stays open") {
            StreamItem::Event(event) if is_kept(&event) => {
                into.push((event.cursor, event.kind.clone()))
            }
            StreamItem::Event(_)
            | StreamItem::Text { .. }
            | StreamItem::Thinking { .. }
            | StreamItem::Progress { .. }
            | StreamItem::Lagged { .. } => {}
            StreamItem::ReplayFailed => panic!("the store can be read"),
        }
    }
}

/// Gives the whole story, as a late reader reads it from the store alone.
pub(super) async fn story(
    runtime: &TestRuntime,
    slot: &Arc<SessionSlot>,
) -> Vec<(EventCursor, EventKind)> {
    sleep(runtime, slot).await;
    let fresh = runtime.fresh_slot(slot);
    let mut story = Vec::new();
    let mut reader = come_back(runtime, &fresh, EventCursor::START).await;
    let last = runtime.store.session(slot.session()).await.unwrap().unwrap().row.last_seq;
    if last > 0 {
        let end = story_end(runtime, slot, last).await;
        read(&mut reader, end, usize::MAX, &mut story).await;
    }
    story
}

/// Gives the cursor behind the last of all kept events.
async fn story_end(runtime: &TestRuntime, slot: &Arc<SessionSlot>, last: u64) -> EventCursor {
    let part =
        runtime.store.transcript(slot.session(), last, PartSize::of_numbers(1)).await.unwrap();
    let cursor = EventCursor::of_entry(last);
    if part.entries.iter().any(|entry| entry.end.is_some()) { cursor.end() } else { cursor }
}

#[tokio::test]
async fn what_was_stored_as_the_actor_died_is_told_when_the_session_wakes() {
    let (model, mut script) = model_pair();
    let runtime = TestRuntime::with_tools(Limits::default(), model, [FakeTool::read("look")]).await;
    let slot = runtime.slot("a").await;
    let mut reader = subscribe(&runtime, &slot);
    drop(runtime.ask(&slot, "hi").await.unwrap());
    let completion = in_time(script.next()).await;
    let paused = runtime.store.pause().await;
    completion.say("Hello.");
    let is_on_its_way = async {
        while runtime.handles.store.waiting().await.unwrap() == 0
            && runtime.state(&slot).await.is_streaming
        {
            tokio::task::yield_now().await;
        }
    };
    in_time(is_on_its_way).await;
    slot.awake().unwrap().kill();
    in_time(asleep(&slot)).await;
    drop(paused);
    let mut kinds = Vec::new();
    while !matches!(kinds.last(), Some(EventKind::TurnEnded { .. })) {
        if let StreamItem::Event(event) = in_time(reader.next()).await.unwrap() {
            kinds.push(event.kind.clone());
        }
    }
    let is_answer = |kind: &&EventKind| matches!(kind, EventKind::ModelMessage { .. });
    assert_eq!(kinds.iter().filter(is_answer).count(), 1, "{kinds:?}");
    assert_eq!(kinds.len(), 3, "{kinds:?}");
    let answered = TurnEnding::Answered;
    assert!(matches!(kinds[2], EventKind::TurnEnded { ending, .. } if ending == answered));
}

#[tokio::test]
async fn a_slow_reader_is_told_that_it_lagged_reads_what_it_missed_and_delays_no_other() {
    let runtime = runtime(4).await;
    let slot = runtime.slot("s").await;
    turn(&runtime, &slot).await;
    let mut slow = subscribe(&runtime, &slot);
    let mut quick: Vec<_> = (0..8).map(|_| Probe::new(subscribe(&runtime, &slot))).collect();
    for turns in 1..=6 {
        turn(&runtime, &slot).await;
        for probe in &mut quick {
            probe.until_turns_ended(turns).await;
        }
    }
    let Some(StreamItem::Lagged { from, to }) = in_time(slow.next()).await else {
        panic!("it is told first");
    };
    assert!(from < to);
    let kept = |events: &[Arc<SessionEvent>]| -> Vec<_> {
        let kept = events.iter().filter(|event| is_kept(event));
        kept.map(|event| (event.cursor, event.kind.clone())).collect()
    };
    let expected = kept(quick[0].events());
    let mut seen = Vec::new();
    read(&mut slow, expected.last().unwrap().0, usize::MAX, &mut seen).await;
    assert_eq!(seen, expected);
    assert!(quick.iter().all(|probe| kept(probe.events()) == expected), "all read the same");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_read_is_told_and_asked_again_after_a_while() {
    let runtime = runtime(2).await;
    let slot = runtime.slot("s").await;
    let mut slow = subscribe(&runtime, &slot);
    turn(&runtime, &slot).await;
    assert!(matches!(in_time(slow.next()).await, Some(StreamItem::Lagged { .. })));
    runtime.store.fail_next_read();
    assert_eq!(in_time(slow.next()).await, Some(StreamItem::ReplayFailed));
    let failed = tokio::time::Instant::now();
    let Some(StreamItem::Event(first)) = in_time(slow.next()).await else {
        panic!("it is read now")
    };
    assert_eq!(first.cursor, EventCursor::of_entry(1));
    assert!(failed.elapsed() >= Duration::from_secs(1), "the store is given some time");
    while slow.try_next().is_some() {}
    turn(&runtime, &slot).await;
    let again = tokio::time::Instant::now();
    assert!(matches!(in_time(slow.next()).await, Some(StreamItem::Lagged { .. })));
    assert!(matches!(in_time(slow.next()).await, Some(StreamItem::Event(_))));
    assert!(again.elapsed() < Duration::from_secs(1), "it has answered since");
}

#[tokio::test]
async fn a_reader_that_missed_no_stored_event_does_not_ask_the_store() {
    let runtime = runtime(2).await;
    let slot = runtime.slot("s").await;
    turn(&runtime, &slot).await;
    sleep(&runtime, &slot).await;
    let slot = runtime.fresh_slot(&slot);
    runtime.state(&slot).await;
    let cursor = slot.feed().published_up_to().unwrap();
    let mut readers = [subscribe(&runtime, &slot), come_back(&runtime, &slot, cursor).await];
    let tells = || {
        let turn = TurnId::new(uuid::Uuid::nil());
        let at = Timestamp::from_millis(1);
        slot.feed().publish(turn, at, Durability::Transient, EventKind::Cleared);
    };
    tells();
    for reader in &mut readers {
        runtime.store.fail_next_read();
        assert!(matches!(in_time(reader.next()).await, Some(StreamItem::Event(_))));
    }
    // These only tell how things go, and more of them than are kept.
    (0..3).for_each(|_| tells());
    for reader in &mut readers {
        assert!(matches!(in_time(reader.next()).await, Some(StreamItem::Lagged { .. })));
        runtime.store.fail_next_read();
        assert!(matches!(in_time(reader.next()).await, Some(StreamItem::Event(_))));
    }
}

#[tokio::test]
async fn a_reader_that_begins_while_a_session_sleeps_hears_nothing_of_before() {
    let runtime = runtime(2).await;
    let slot = runtime.slot("s").await;
    turn(&runtime, &slot).await;
    sleep(&runtime, &slot).await;
    let fresh = runtime.fresh_slot(&slot);
    let mut reader = subscribe(&runtime, &fresh);
    turn(&runtime, &fresh).await;
    let mut seen = Vec::new();
    read(&mut reader, EventCursor::of_entry(5).end(), usize::MAX, &mut seen).await;
    assert_eq!(seen.first().unwrap().0, EventCursor::of_entry(4), "the turn's own first entry");
}

#[tokio::test]
async fn the_first_reader_of_a_turn_that_goes_on_reads_what_the_ring_has_forgotten() {
    let (model, mut script) = model_pair();
    let limits = Limits { max_feed_events: 2, ..Limits::default() };
    let tools = [FakeTool::read("look")];
    let runtime = TestRuntime::with_tools(limits, model, tools).await;
    let slot = runtime.slot("s").await;
    drop(runtime.ask(&slot, "hi").await.unwrap());
    let _first = in_time(script.next()).await;
    // As after a crash: the turn goes on, and says more than the ring keeps before a reader
    // listens.
    let slot = runtime.fresh_slot(&slot);
    runtime.state(&slot).await;
    let look = |text: &str| super::calling(text, &["look"]);
    in_time(script.next()).await.finish(look("One."));
    in_time(script.next()).await.finish(look("Two."));
    let last = in_time(script.next()).await;
    let mut reader = subscribe(&runtime, &slot);
    last.say("Three.");
    let mut seen = Vec::new();
    read(&mut reader, EventCursor::of_entry(6).end(), usize::MAX, &mut seen).await;
    let cursors: Vec<_> = seen.iter().map(|(cursor, _)| cursor.to_string()).collect();
    assert_eq!(cursors, ["2", "3", "4", "5", "6", "6.2"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn wherever_a_reader_lags_leaves_and_comes_back_it_reads_the_whole_story_once(
        capacity in 1..6_usize,
        steps in prop::collection::vec((0..8_u8, 0..12_usize), 1..24),
    ) {
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        threads.block_on(async {
            let runtime = runtime(capacity).await;
            let mut slot = runtime.slot("s").await;
            let mut reader = subscribe(&runtime, &slot);
            let mut seen = Vec::new();
            let last = |seen: &Vec<(EventCursor, EventKind)>| {
                seen.last().map_or(EventCursor::START, |(cursor, _)| *cursor)
            };
            for (step, items) in steps {
                match step {
                    0..=2 => turn(&runtime, &slot).await,
                    3 => {
                        let (reply, cleared) = oneshot::channel();
                        runtime.send(&slot, SessionRequest::Clear { reply });
                        in_time(cleared).await.unwrap().unwrap();
                    }
                    4 => sleep(&runtime, &slot).await,
                    5 => {
                        sleep(&runtime, &slot).await;
                        slot = runtime.fresh_slot(&slot);
                        reader = come_back(&runtime, &slot, last(&seen)).await;
                    }
                    6 => reader = come_back(&runtime, &slot, last(&seen)).await,
                    _ => {
                        while seen.len() < items
                            && let Ok(Some(item)) =
                                tokio::time::timeout(Duration::from_millis(2), reader.next()).await
                        {
                            let StreamItem::Event(event) = item else { continue };
                            if is_kept(&event) {
                                seen.push((event.cursor, event.kind.clone()));
                            }
                        }
                    }
                }
            }
            let story = story(&runtime, &slot).await;
            if let Some((end, _)) = story.last() {
                read(&mut reader, *end, usize::MAX, &mut seen).await;
            }
            assert_eq!(seen, story);
            assert!(seen.is_sorted_by(|(a, _), (b, _)| a < b));
        });
    }
}
