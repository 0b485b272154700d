//! A session that wakes while something of it fails: its actor dies at once, or the store's reply
//! is lost.

use std::{sync::Arc, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef, ActorStatus};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use super::{by_hand, by_hand_with, calling, lost::cursors, reading::come_back};
use crate::{
    protocol::{EventCursor, EventKind, Limits, UserId},
    session::{
        Error, Sent, SessionMsg, SessionRegistry, SessionRequest, SessionSlot, ViewPage,
        WakePolicy, go_on, open,
    },
    test_runtime::{TestRuntime, in_time},
    testing::{FakeTool, Gate, HandCompletion, HandScript, Probe},
};

/// A session that takes its time to end.
struct Lingers;

impl Actor for Lingers {
    type Msg = SessionMsg;
    type State = Gate;
    type Arguments = Gate;

    async fn pre_start(
        &self,
        _: ActorRef<SessionMsg>,
        gate: Gate,
    ) -> Result<Gate, ActorProcessingErr> {
        Ok(gate)
    }

    async fn post_stop(
        &self,
        _: ActorRef<SessionMsg>,
        gate: &mut Gate,
    ) -> Result<(), ActorProcessingErr> {
        gate.pass().await;
        Ok(())
    }
}

#[tokio::test]
async fn an_actor_that_is_about_to_end_is_not_taken_for_one_that_is_awake() {
    let (runtime, _) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let gate = Gate::new();
    let (actor, ended) = Actor::spawn(None, Lingers, gate.clone()).await.unwrap();
    actor.stop(None);
    in_time(gate.arrived(1)).await;
    assert_eq!(actor.get_status(), ActorStatus::Stopping);
    assert!(slot.begins_waking());
    let (reply, state) = oneshot::channel();
    assert!(matches!(
        slot.send(SessionRequest::State { page: ViewPage::ALL, reply }),
        Sent::Delivered
    ));
    slot.woke(actor, None, None);
    assert!(slot.awake().is_none() && slot.begins_waking(), "another may start");
    gate.open();
    in_time(ended).await.unwrap();
    in_time(state).await.expect_err("the caller hears that it is gone");
}

/// Makes a session with a turn that was left open, as another process finds it. Gives it with a
/// reader, and with the completion that the other process waited for.
pub(super) async fn left_open(
    runtime: &TestRuntime,
    script: &mut HandScript,
) -> (Arc<SessionSlot>, Probe, HandCompletion) {
    let before = runtime.slot("s").await;
    drop(runtime.ask(&before, "go").await.unwrap());
    let speaks = script.next().await;
    let slot = runtime.fresh_slot(&before);
    let probe = Probe::new(slot.feed().subscribe());
    (slot, probe, speaks)
}

#[tokio::test]
async fn an_actor_does_not_sleep_before_it_has_come_to_the_message_with_which_it_woke() {
    let (runtime, _) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let gate = Gate::new();
    let (actor, ended) = Actor::spawn(None, Lingers, gate.clone()).await.unwrap();
    assert!(slot.begins_waking());
    let (reply, _state) = oneshot::channel();
    assert!(matches!(
        slot.send(SessionRequest::State { page: ViewPage::ALL, reply }),
        Sent::Delivered
    ));
    slot.woke(actor.clone(), None, None);
    assert!(!slot.try_sleep(actor.get_id()));
    slot.took_one();
    assert!(slot.try_sleep(actor.get_id()));
    gate.open();
    actor.stop(None);
    in_time(ended).await.unwrap();
}

#[tokio::test]
async fn a_chat_wakes_for_its_own_user_and_for_no_other() {
    let (runtime, mut script) = by_hand([]).await;
    let own = runtime.slot("s").await;
    drop(runtime.ask(&own, "a secret").await.unwrap());
    script.next().await.say("Noted.");
    let limits = &runtime.handles.calls.limits;
    for (user, wakes) in [("lee", false), ("kim", true)] {
        let user = UserId::new(user).unwrap();
        let slot = SessionRegistry::default().slot(own.session(), &user, limits).unwrap();
        assert!(slot.begins_waking());
        let awake = open(slot.clone(), runtime.context.clone(), WakePolicy::RefuseIfFull).await;
        assert_eq!((awake, slot.awake().is_some()), (wakes, wakes), "{user}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_session_cannot_be_read_at_first_goes_on_without_a_further_message() {
    let limits = Limits { ask_timeout: Duration::from_secs(1), ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let (slot, mut probe, _speaks) = left_open(&runtime, &mut script).await;
    runtime.store.fail_next_load();
    runtime.store.fail_next_load();
    let began = Instant::now();
    go_on(&slot, &runtime.context);
    let completion = script.next().await;
    assert_eq!(began.elapsed().as_secs(), 1 + 2, "the second pause is longer");
    completion.say("Hello.");
    probe.until_turns_ended(1).await;
    assert_eq!(probe.lines(), "turn resumed\nmodel: Hello. (Complete)\nturn ended Answered");
}

#[tokio::test(start_paused = true)]
async fn a_turn_goes_on_though_a_caller_wakes_its_session_in_vain_when_the_pause_ends() {
    let limits = Limits { ask_timeout: Duration::from_secs(1), ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let (slot, mut probe, _speaks) = left_open(&runtime, &mut script).await;
    runtime.store.fail_next_load();
    go_on(&slot, &runtime.context);
    sleep(Duration::from_millis(1)).await; // the first try fails
    let (reply, state) = oneshot::channel();
    assert!(matches!(
        slot.send(SessionRequest::State { page: ViewPage::ALL, reply }),
        Sent::WakeIt
    ));
    sleep(Duration::from_secs(2)).await;
    runtime.store.fail_next_load();
    open(slot.clone(), runtime.context.clone(), WakePolicy::RefuseIfFull).await;
    let refused = in_time(state).await.unwrap().unwrap_err();
    assert!(matches!(refused, Error::Store(_)), "the store cannot be read: {refused:?}");
    script.next().await.say("Hello.");
    probe.until_turns_ended(1).await;
}

#[tokio::test]
async fn a_reader_that_comes_first_hears_of_a_recovery_whose_reply_was_lost() {
    // The turn ends, or goes on.
    let ends = (0, ["2", "3", "3.1", "3.2"].as_slice());
    let goes_on = (1, ["1", "2", "3", "4", "4.2"].as_slice());
    for (max_resumes, told) in [ends, goes_on] {
        let ask_timeout = Duration::from_millis(50);
        let limits = Limits { max_resumes, ask_timeout, ..Limits::default() };
        let gate = Gate::new();
        let tools = [FakeTool::write("mail").gate(&gate)];
        let (runtime, mut script) = by_hand_with(limits, tools).await;
        let before = runtime.slot("s").await;
        drop(runtime.ask(&before, "go").await.unwrap());
        script.next().await.finish(calling("", &["mail"]));
        in_time(gate.arrived(1)).await;
        let slot = runtime.fresh_slot(&before); // as in another process
        let mut probe = Probe::new(slot.feed().subscribe());
        runtime.store.lose_next_commit_reply();
        go_on(&slot, &runtime.context);
        let (reply, state) = oneshot::channel();
        runtime.send(&slot, SessionRequest::State { page: ViewPage::ALL, reply });
        let refused = in_time(state).await.unwrap().unwrap_err();
        assert!(matches!(refused, Error::Store(_)), "the session does not wake: {refused:?}");
        // It wakes by itself, without a further message, and does not count the resumption twice.
        if max_resumes > 0 {
            script.next().await.say("Sent?");
        }
        probe.until_turns_ended(1).await;
        assert_eq!(cursors(&probe), told, "{}", probe.lines());
    }
}

#[tokio::test]
async fn a_reader_who_comes_back_is_the_first_of_a_turn_that_goes_on() {
    let (runtime, mut script) = by_hand([]).await;
    let (slot, _, _speaks) = left_open(&runtime, &mut script).await;
    let mut back = Probe::new(come_back(&runtime, &slot, EventCursor::START).await);
    let completion = script.next().await;
    back.until(|told| told.iter().any(|event| event.kind == EventKind::TurnResumed)).await;
    let mut later = Probe::new(slot.feed().subscribe());
    completion.say("Hello.");
    later.until_turns_ended(1).await;
    assert_eq!(later.lines(), "model: Hello. (Complete)\nturn ended Answered");
}
