//! Turns that go on after a crash and wait for room: until they have it, they can be viewed, asked
//! about, answered and dismissed.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, task::yield_now};

use super::{by_hand_with, calling};
use crate::{
    ledger::text_digest,
    port::{OpenTurn, Store as _, Write},
    protocol::{
        Bound, ChatMessage, Content, Decision, Effect, Limits, Timestamp, TurnEnding, TurnId,
        TurnOptions,
    },
    session::{SessionRequest, SessionSlot, go_on},
    test_runtime::{TestRuntime, in_time},
    testing::{FakeTool, HandScript, Probe, model_pair},
};

/// Leaves a turn open in the store, as a process that ended while the model answered.
pub(super) async fn left_open(runtime: &TestRuntime, name: &str) -> Arc<SessionSlot> {
    let slot = runtime.slot(name).await;
    let session = slot.session().clone();
    let turn = TurnId::new(uuid::Uuid::now_v7());
    let at = Timestamp::from_millis(1);
    let message = ChatMessage { seq: 1, turn, at, content: Content::user("hi") };
    let started = Write::TurnStarted {
        session: session.clone(),
        turn,
        at,
        options: TurnOptions::default(),
        text: text_digest("hi"),
        max_stored_bytes: u64::MAX,
    };
    let left = vec![started, Write::Message { session, message }];
    runtime.handles.store.write(left).await.unwrap();
    slot
}

/// Wakes a session as a start does.
pub(super) fn wakes(runtime: &TestRuntime, slot: &Arc<SessionSlot>) {
    go_on(slot, &runtime.context);
}

pub(super) async fn stored(runtime: &TestRuntime, slot: &SessionSlot) -> Option<OpenTurn> {
    runtime.store.session(slot.session()).await.unwrap().unwrap().open_turn
}

pub(super) async fn dismisses(runtime: &TestRuntime, slot: &Arc<SessionSlot>) {
    let (reply, dismissed) = oneshot::channel();
    runtime.send(slot, SessionRequest::Dismiss { only: None, reply });
    in_time(in_time(dismissed).await.unwrap().unwrap()).await.unwrap().unwrap();
}

async fn one_turn() -> (TestRuntime, HandScript) {
    by_hand_with(Limits { max_running_turns: 1, ..Limits::default() }, []).await
}

#[tokio::test]
async fn a_turn_that_waits_for_room_is_seen_and_counts_its_resumption_once_it_has_room() {
    let (runtime, mut script) = one_turn().await;
    let busy = runtime.slot("busy").await;
    let end = runtime.ask(&busy, "hi").await.unwrap();
    let completion = script.next().await;
    let slot = left_open(&runtime, "s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    wakes(&runtime, &slot);
    let view = runtime.state(&slot).await;
    let open = stored(&runtime, &slot).await.unwrap();
    assert_eq!((view.turn, view.messages.len(), view.is_streaming), (Some(open.turn), 1, true));
    assert_eq!(open.resumes, 0, "it has taken no process with it");
    completion.say("Hello.");
    in_time(end).await.unwrap();
    let completion = script.next().await;
    assert_eq!(stored(&runtime, &slot).await.unwrap().resumes, 1);
    completion.say("Hello.");
    probe.until_turns_ended(1).await;
    assert_eq!(probe.lines(), "turn resumed\nmodel: Hello. (Complete)\nturn ended Answered");
    assert_eq!(runtime.handles.calls.admission.held(Bound::RunningTurns), 0);
}

#[tokio::test]
async fn a_turn_that_waits_for_room_is_dismissed_at_once_and_needs_no_room_to_end() {
    let (runtime, mut script) = one_turn().await;
    let busy = runtime.slot("busy").await;
    let end = runtime.ask(&busy, "hi").await.unwrap();
    let completion = script.next().await;
    let slot = left_open(&runtime, "s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    wakes(&runtime, &slot);
    runtime.state(&slot).await;
    dismisses(&runtime, &slot).await;
    probe.until_turns_ended(1).await;
    assert_eq!(probe.lines(), "turn resumed\nturn ended Dismissed");
    assert_eq!(stored(&runtime, &slot).await, None);
    let admission = &runtime.handles.calls.admission;
    in_time(async {
        while admission.is_wanted(Bound::RunningTurns, slot.user()) {
            yield_now().await; // its wait is about to end
        }
    })
    .await;
    completion.say("Hello.");
    in_time(end).await.unwrap();
    let end = runtime.ask(&slot, "again").await.unwrap();
    script.next().await.say("Hello.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
}

#[tokio::test]
async fn a_turn_whose_resumption_could_not_be_counted_goes_on_once_the_store_is_back() {
    let limits = Limits {
        max_running_turns: 1,
        ask_timeout: Duration::from_millis(50),
        ..Limits::default()
    };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let slot = left_open(&runtime, "s").await;
    let admission = &runtime.handles.calls.admission;
    let room = admission.admit(Bound::RunningTurns, slot.user(), 1).unwrap();
    let mut probe = Probe::new(slot.feed().subscribe());
    wakes(&runtime, &slot);
    runtime.state(&slot).await;
    // The next job of the store counts the resumption.
    runtime.store.fail_next_begin();
    drop(room);
    let completion = script.next().await;
    assert_eq!(stored(&runtime, &slot).await.unwrap().resumes, 1);
    completion.say("Hello.");
    probe.until_turns_ended(1).await;
    assert!(probe.lines().ends_with("turn ended Answered"), "{}", probe.lines());
}

#[tokio::test]
async fn a_turn_without_room_asks_its_person_again_and_the_model_once_it_has_room() {
    let tool = || FakeTool::destructive("mail");
    let (before, mut script) = by_hand_with(Limits::default(), [tool()]).await;
    let slot = before.slot("s").await;
    drop(before.ask(&slot, "go").await.unwrap());
    script.next().await.finish(calling("", &["mail"]));
    let request = Probe::new(slot.feed().subscribe()).approval_request().await;
    // Another process, which has room for one turn.
    let limits = Limits { max_running_turns: 1, ..Limits::default() };
    let (model, mut script) = model_pair();
    let store = before.store.clone();
    let runtime = TestRuntime::on(store, limits, model, [tool()]).await;
    let busy = runtime.slot("busy").await;
    let end = runtime.ask(&busy, "hi").await.unwrap();
    let completion = script.next().await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    wakes(&runtime, &slot);
    assert_eq!(probe.approval_request().await, request);
    assert_eq!(runtime.state(&slot).await.approval_request.as_ref(), Some(&request));
    runtime.decide(&request, Decision::Approve).await.unwrap();
    in_time(async {
        while runtime.ledger().await[0].effect != Some(Effect::Committed) {
            yield_now().await;
        }
    })
    .await;
    runtime.state(&slot).await;
    assert!(script.try_next().is_none(), "there is no room for it");
    assert_eq!(stored(&runtime, &slot).await.unwrap().resumes, 0);
    completion.say("Hello.");
    in_time(end).await.unwrap();
    script.next().await.say("Sent.");
    probe.until_turns_ended(1).await;
    assert!(probe.lines().ends_with("model: Sent. (Complete)\nturn ended Answered"));
    assert_eq!(runtime.handles.calls.admission.held(Bound::RunningTurns), 0);
}
