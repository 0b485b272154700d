//! Sessions whose actor is lost in the middle of a turn: one turn, one end, and all that is stored
//! is published once.

use std::{sync::Arc, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef, ActorStatus, SupervisionEvent};
use tokio::sync::oneshot;

use super::{asleep, by_hand, by_hand_with, calling, role, words};
use crate::{
    dispatcher::CallContext,
    port::{Store, StoreError},
    protocol::{
        Bound, EventCursor, EventKind, Limits, SessionEvent, TurnEnding, TurnError, TurnId,
        TurnOptions,
    },
    session::{
        Error, Outgoing, RuntimeContext, SessionMsg, SessionRequest, SessionSlot, StreamItem,
        TurnRequest, ViewPage, msg::Purpose,
    },
    test_runtime::{TestRuntime, in_time},
    testing::{FakeTool, Gate, Probe, ScriptedCompletion, ScriptedModel, model_pair},
};

/// A supervisor that comes late to the actors that end.
struct Late;

impl Actor for Late {
    type Msg = ();
    type State = Gate;
    type Arguments = Gate;

    async fn pre_start(&self, _: ActorRef<()>, gate: Gate) -> Result<Gate, ActorProcessingErr> {
        Ok(gate)
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        event: SupervisionEvent,
        gate: &mut Gate,
    ) -> Result<(), ActorProcessingErr> {
        use SupervisionEvent::{ActorFailed, ActorTerminated};
        if matches!(event, ActorTerminated(..) | ActorFailed(..)) {
            gate.pass().await;
        }
        Ok(())
    }
}

/// Kills the session's actor, and waits until it does nothing any more.
pub(super) async fn killed(slot: &SessionSlot) {
    let Some(actor) = slot.awake() else { return };
    actor.kill();
    while actor.get_status() < ActorStatus::Stopping {
        tokio::task::yield_now().await;
    }
}

pub(super) fn ends(events: &[Arc<SessionEvent>]) -> Vec<(TurnId, TurnEnding)> {
    let end = |event: &Arc<SessionEvent>| {
        let EventKind::TurnEnded { ending, .. } = event.kind else { return None };
        Some((event.turn, ending))
    };
    events.iter().filter_map(end).collect()
}

pub(super) fn cursors(probe: &Probe) -> Vec<String> {
    probe.events().iter().map(|event| event.cursor.to_string()).collect()
}

/// Asks, and does not wait for the beginning of the turn.
pub(super) fn sends(
    runtime: &TestRuntime,
    slot: &Arc<SessionSlot>,
    text: &str,
) -> oneshot::Receiver<Result<TurnId, Error>> {
    let ((began, beginning), (ended, _)) = (oneshot::channel(), oneshot::channel());
    let options = TurnOptions::default();
    let admission = &runtime.handles.calls.admission;
    let bytes = admission.admit(Bound::QueuedBytes, slot.user(), text.len()).unwrap();
    runtime.send(
        slot,
        SessionRequest::Submit(TurnRequest { text: text.into(), options, bytes, began, ended }),
    );
    beginning
}

/// Dismisses the turn. Gives what the store says of that.
async fn dismisses(runtime: &TestRuntime, slot: &Arc<SessionSlot>) -> Result<(), StoreError> {
    let (reply, dismissed) = oneshot::channel();
    runtime.send(slot, SessionRequest::Dismiss { only: None, reply });
    let stored = in_time(dismissed).await.unwrap().unwrap();
    in_time(stored).await.unwrap()
}

#[tokio::test]
async fn the_turn_of_a_killed_actor_goes_on_however_late_its_supervisor_comes() {
    let tool = FakeTool::write("mail");
    let runs = tool.runs();
    let (mut runtime, mut script) = by_hand([tool]).await;
    let gate = Gate::new();
    let (late, _) = Late::spawn(None, Late, gate.clone()).await.unwrap();
    runtime.context =
        Arc::new(RuntimeContext { supervisor: late.get_cell(), ..(*runtime.context).clone() });
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    let completion = script.next().await;
    killed(&slot).await;

    let state = runtime.state(&slot).await;
    assert!(state.is_streaming && state.error.is_none(), "{state:?}");
    script.next().await.say("Hello.");
    let ended = in_time(end).await.unwrap();
    gate.open();
    in_time(completion.cancelled()).await;
    probe.until_turns_ended(1).await;
    assert_eq!(ends(probe.events()), [(ended.turn, TurnEnding::Answered)]);
    assert_eq!(runs.count(), 0);
    assert_eq!(words(&runtime, &slot).await, ["go", "Hello."]);
}

#[tokio::test]
async fn what_a_lost_model_said_is_no_text_of_the_turn_any_more() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "go").await.unwrap();
    let completion = script.next().await;
    completion.delta("Hel");
    assert_eq!(slot.feed().spoken(), "Hel");
    // So the next actor does not come yet.
    let paused = runtime.store.pause().await;
    killed(&slot).await;
    in_time(asleep(&slot)).await;
    assert_eq!(slot.feed().spoken(), "");
    drop(paused);
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    assert_eq!(words(&runtime, &slot).await, ["go", "Hello."]);
}

#[tokio::test]
async fn no_call_runs_whose_round_the_store_refused() {
    let tool = FakeTool::write("mail");
    let runs = tool.runs();
    let (runtime, mut script) = by_hand([tool]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "go").await.unwrap();
    let completion = script.next().await;
    runtime.store.fail_next_begin();
    completion.finish(calling("I mail.", &["mail"]));
    let completion = script.next().await;
    let read: Vec<_> = completion.request().messages.iter().map(role).collect();
    assert_eq!((read, runs.count()), (vec!["user"], 0), "the model is asked anew");
    completion.finish(calling("I mail.", &["mail"]));
    script.next().await.say("Done.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    assert_eq!(runs.count(), 1);
}

#[tokio::test]
async fn a_caller_that_waits_for_a_turn_that_the_store_refused_is_let_go() {
    let (runtime, _script) = by_hand([]).await;
    let [other, slot] = [runtime.slot("other").await, runtime.slot("s").await];
    runtime.state(&slot).await;
    // While another session's write is committed, the turn's own waits for a transaction.
    let paused = runtime.store.pause().await;
    let _beginning = sends(&runtime, &other, "hi");
    runtime.state(&other).await;
    let beginning = sends(&runtime, &slot, "go");
    let ((ended, end), (reply, running)) = (oneshot::channel(), oneshot::channel());
    runtime.send(&slot, SessionRequest::Attach { ended, reply });
    assert!(in_time(running).await.unwrap().unwrap().is_some());
    runtime.store.fail_next_begin();
    drop(paused);
    in_time(beginning).await.unwrap().unwrap_err();
    in_time(end).await.unwrap_err();
}

#[tokio::test]
async fn a_turn_that_loses_its_actor_again_and_again_is_given_up() {
    let limits = Limits { max_resumes: 2, ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "go").await.unwrap();
    for _ in 0..=2 {
        let completion = script.next().await;
        killed(&slot).await;
        in_time(completion.cancelled()).await;
    }
    let end = in_time(end).await.unwrap();
    assert_eq!((end.ending, end.error), (TurnEnding::Failed, Some(TurnError::CutOff)));
    assert!(script.try_next().is_none(), "the model is asked no more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_sessions_that_are_killed_at_once_end_each_turn_once() {
    let slow = ScriptedCompletion::text("Hello.").after(Duration::from_millis(20));
    // A session whose waking fails is tried again after this time.
    let limits = Limits { ask_timeout: Duration::from_millis(200), ..Limits::default() };
    let runtime = TestRuntime::with(limits, ScriptedModel::repeating([slow]), []).await;
    let mut sessions = Vec::new();
    for number in 0..300 {
        let slot = runtime.slot(&number.to_string()).await;
        let probe = Probe::new(slot.feed().subscribe());
        let end = runtime.ask(&slot, "hi").await.unwrap();
        sessions.push((slot, probe, end));
    }
    let actors: Vec<_> = sessions.iter().filter_map(|(slot, ..)| slot.awake()).collect();
    actors.iter().for_each(|actor| actor.kill());
    for (slot, ..) in &sessions {
        let (reply, _) = oneshot::channel();
        runtime.send(slot, SessionRequest::State { page: ViewPage::ALL, reply });
    }
    let mut again = Vec::new();
    for (slot, probe, end) in &mut sessions {
        assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
        probe.until_turns_ended(1).await;
        // The state of one that was dead then may have been asked of the dead one.
        in_time(awake(&runtime, slot)).await;
        again.push(runtime.ask(slot, "again").await.unwrap());
    }
    for ((_, probe, _), end) in sessions.iter_mut().zip(again) {
        in_time(end).await.unwrap();
        probe.until_turns_ended(2).await;
        assert_eq!(ends(probe.events()).len(), 2, "{}", probe.lines());
    }
}

/// Waits until an actor behind the slot answers.
async fn awake(runtime: &TestRuntime, slot: &Arc<SessionSlot>) {
    loop {
        let (reply, state) = oneshot::channel();
        runtime.send(slot, SessionRequest::State { page: ViewPage::ALL, reply });
        if state.await.is_ok() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_reader_hears_what_a_handler_did_that_outlived_its_session() {
    let gate = Gate::new();
    let (runtime, mut script) = by_hand([FakeTool::write("mail").gate(&gate)]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    in_time(gate.arrived(1)).await;
    slot.awake().unwrap().kill();
    gate.open();
    let completion = script.next().await;
    let read: Vec<_> = completion.request().messages.iter().map(role).collect();
    assert_eq!(read, ["user", "call"], "the turn goes on with what the handler did");
    completion.say("Sent.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    assert_eq!(slot.turn().count_try(), 0, "the store took a write: a later loss is no second try");
    let end = runtime.ask(&slot, "again").await.unwrap();
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    probe.until_turns_ended(2).await;
    assert!(probe.lines().contains("call mail"), "{}", probe.lines());
    assert_eq!(cursors(&probe), ["1", "1", "1", "2", "3", "3.2", "4", "5", "5.2"]);
    // A reader that comes back reads the same from the store.
    let limits = Limits { max_feed_events: 1, ..Limits::default() };
    let fresh = runtime.fresh_slot(&slot);
    awake(&runtime, &fresh).await;
    let calls = &runtime.handles.calls;
    let calls = CallContext::new(
        calls.registry.clone(),
        Arc::new(limits),
        calls.store.clone(),
        calls.confirm.clone(),
        calls.clock.clone(),
        calls.extensions.clone(),
        calls.tasks.clone(),
    );
    let mut again = Probe::new(fresh.subscribe_after(EventCursor::START, &calls));
    again.until_turns_ended(2).await;
    assert_eq!(cursors(&again), ["1", "2", "3", "3.2", "4", "5", "5.2"]);
    let kept = |event: &&Arc<SessionEvent>| {
        !matches!(event.kind, EventKind::ToolCallProposed { .. } | EventKind::TurnResumed)
    };
    let told = |probe: &Probe| -> Vec<_> {
        let events = probe.events().iter().filter(kept);
        events.map(|event| (event.cursor, event.turn, event.at, event.kind.clone())).collect()
    };
    assert_eq!(told(&probe), told(&again), "field by field");
}

#[tokio::test]
async fn a_reader_hears_what_a_handler_did_though_the_store_failed_meanwhile() {
    // Once as the session writes, or once more as it wakes anew.
    for fails_again in [false, true] {
        let (gate, (model, mut script)) = (Gate::new(), model_pair());
        let limits = Limits { ask_timeout: Duration::from_millis(50), ..Limits::default() };
        let tools = [FakeTool::write("mail").gate(&gate)];
        let runtime = TestRuntime::with_tools(limits, model, tools).await;
        let slot = runtime.slot("s").await;
        let mut probe = Probe::new(slot.feed().subscribe());
        let end = runtime.ask(&slot, "go").await.unwrap();
        script.next().await.finish(calling("", &["mail"]));
        in_time(gate.arrived(1)).await;
        runtime.store.fail_next_begin();
        let refused = dismisses(&runtime, &slot).await;
        assert!(refused.is_err());
        if fails_again {
            runtime.store.fail_next_read();
        }
        gate.open();
        // The session wakes by itself. A caller that waits for the end is not held up by a second
        // failure.
        match in_time(end).await {
            Ok(end) => {
                assert_eq!((end.ending, end.error), (TurnEnding::Dismissed, None));
            }
            Err(_) => assert!(fails_again),
        }
        probe.until_turns_ended(1).await;
        let stored = runtime.store.session(slot.session()).await.unwrap().unwrap();
        assert_eq!(stored.open_turn, None);
        let end = in_time(runtime.ask(&slot, "what did you do?")).await.unwrap();
        let completion = script.next().await;
        let read: Vec<_> = completion.request().messages.iter().map(role).collect();
        assert_eq!(read, ["user", "call", "user"], "{fails_again}");
        completion.say("Nothing.");
        in_time(end).await.unwrap();
        probe.until_turns_ended(2).await;
        assert_eq!(ends(probe.events()).len(), 2);
        let expected: &[_] = if fails_again {
            &["1", "1", "1", "1", "2", "2.2", "3", "4", "4.2"] // one more says that it is interrupted
        } else {
            &["1", "1", "1", "2", "2.2", "3", "4", "4.2"]
        };
        assert_eq!(cursors(&probe), expected, "{fails_again}");
    }
}

#[tokio::test]
async fn a_turn_whose_beginning_was_not_told_is_told_whole_once_it_is_stored() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "one").await.unwrap();
    script.next().await.say("Hello.");
    in_time(end).await.unwrap();
    let paused = runtime.store.pause().await;
    drop(sends(&runtime, &slot, "two"));
    runtime.state(&slot).await; // so it is on its way to the store
    killed(&slot).await;
    in_time(asleep(&slot)).await;
    drop(paused);
    script.next().await.say("Hi.");
    probe.until_turns_ended(2).await;
    assert_eq!(cursors(&probe), ["1", "2", "2.2", "2.2", "3", "4", "4.2"]);
    assert!(probe.lines().contains("user: two\nmodel: Hi."), "{}", probe.lines());
}

#[tokio::test]
async fn what_is_killed_while_the_runtime_closes_is_not_told_and_left_to_the_next_start() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    let completion = script.next().await;
    runtime.context.closing.cancel();
    killed(&slot).await;
    in_time(asleep(&slot)).await;
    in_time(completion.cancelled()).await;
    assert!(in_time(end).await.is_err());
    runtime.at_rest().await;
    let stored = runtime.store.session(slot.session()).await.unwrap().unwrap();
    assert!(stored.open_turn.is_some());
    probe.until(|events| !events.is_empty()).await;
    assert_eq!(probe.lines(), "user: go");
}

#[tokio::test]
async fn nothing_begins_beside_a_session_whose_turn_must_go_on() {
    let (runtime, _) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    assert!(slot.begins_asleep().is_some(), "it has not woken");
    assert!(slot.turn().begins_to_go_on());
    assert!(slot.begins_asleep().is_none(), "its turn goes on");
    slot.turn().ends_to_go_on();
    assert!(slot.begins_asleep().is_some());
    runtime.state(&slot).await;
    assert!(slot.begins_asleep().is_none(), "it is awake");
}

#[tokio::test]
async fn no_reader_hears_of_the_end_of_a_lost_turn_that_a_shutdown_leaves_open() {
    // Its actor is lost, or the store fails once.
    for is_killed in [true, false] {
        let gate = Gate::new();
        let (runtime, mut script) = by_hand([FakeTool::write("mail").gate(&gate)]).await;
        let slot = runtime.slot("s").await;
        let mut reads = slot.feed().subscribe();
        let end = runtime.ask(&slot, "go").await.unwrap();
        script.next().await.finish(calling("", &["mail"]));
        in_time(gate.arrived(1)).await;
        if is_killed {
            killed(&slot).await;
        } else {
            runtime.store.fail_next_begin();
            dismisses(&runtime, &slot).await.unwrap_err();
        }
        runtime.context.closing.cancel();
        gate.open();
        in_time(runtime.sessions.close()).await;
        in_time(end).await.expect_err("its end is left to the next start");
        runtime.at_rest().await;
        let stored = runtime.store.session(slot.session()).await.unwrap().unwrap();
        assert!(stored.open_turn.is_some());
        while let Some(item) = reads.try_next() {
            let StreamItem::Event(event) = item else { continue };
            assert_eq!(ends(&[event]), []);
        }
    }
}

#[tokio::test]
async fn a_turn_whose_beginning_is_on_its_way_is_not_refused_because_another_write_failed() {
    let (runtime, _script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    runtime.state(&slot).await;
    let paused = runtime.store.pause().await;
    let beginning = sends(&runtime, &slot, "go");
    runtime.state(&slot).await; // so it is on its way to the store
    let ((ended, _), (reply, running)) = (oneshot::channel(), oneshot::channel());
    runtime.send(&slot, SessionRequest::Attach { ended, reply });
    let turn = in_time(running).await.unwrap().unwrap().unwrap();
    let written = Outgoing::new(Purpose::Dismiss(turn, Vec::new()));
    let result = Err(StoreError::refused("a dismissal"));
    slot.awake().unwrap().cast(SessionMsg::Stored { written, result }).unwrap();
    let refused = in_time(beginning).await.unwrap().unwrap_err();
    let Error::Store(cause) = refused else { panic!("{refused}") };
    assert!(cause.may_have_happened(), "{cause}");
    drop(paused);
    assert_eq!(words(&runtime, &slot).await, ["go"]);
}

#[tokio::test]
async fn a_dismissal_is_told_to_be_stored_once_the_store_has_it() {
    for waits_for_the_model in [true, false] {
        let gate = Gate::new();
        let (runtime, mut script) = by_hand([FakeTool::write("mail").gate(&gate)]).await;
        let slot = runtime.slot("s").await;
        drop(runtime.ask(&slot, "go").await.unwrap());
        let completion = script.next().await;
        if !waits_for_the_model {
            completion.finish(calling("", &["mail"]));
            in_time(gate.arrived(1)).await;
        }
        let paused = runtime.store.pause().await;
        let (reply, dismissed) = oneshot::channel();
        runtime.send(&slot, SessionRequest::Dismiss { only: None, reply });
        let mut is_stored = in_time(dismissed).await.unwrap().unwrap();
        assert!(!runtime.state(&slot).await.is_streaming, "the screen is free at once");
        assert!(is_stored.try_recv().is_err(), "the store does not have it");
        drop(paused);
        in_time(is_stored).await.unwrap().unwrap();
        let stored = runtime.store.session(slot.session()).await.unwrap().unwrap();
        assert!(stored.open_turn.is_none_or(|turn| turn.is_dismissed));
        gate.open();
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_refused_while_no_writer_comes_asks_again_once_one_does() {
    let limits = Limits { store_timeout: Duration::from_secs(1), ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "one").await.unwrap();
    let lease = runtime.handles.store.lease("a handler that blocks".into()).await.unwrap();
    script.next().await.say("Hello.");
    in_time(end).await.expect_err("the store has no end to tell of");
    let refused = in_time(runtime.ask(&slot, "two")).await;
    assert!(matches!(refused, Err(Error::Store(StoreError::Withdrawn))), "{refused:?}");
    drop(lease);
    script.next().await.say("Hello."); // the first turn goes on
    let end = loop {
        if let Ok(end) = in_time(runtime.ask(&slot, "three")).await {
            break end;
        }
    };
    script.next().await.say("Hello.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
}
