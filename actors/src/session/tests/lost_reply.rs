//! A reply that was lost: what the store knows decides, so a call runs once, and what was written
//! is not called lost.

use std::{ops::ControlFlow, sync::Arc};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::spawn;
use uuid::Uuid;

use super::{by_hand, by_hand_with, calling};
use crate::{
    dispatcher::{DispatcherEvent, DispatcherMsg},
    ledger::{CallState, text_digest},
    mailbox::{Address, Recipient, Reply},
    port::{TurnStep, Write},
    protocol::{
        Bound, ChatMessage, Content, Decision, Effect, Limits, SessionId, Timestamp, TurnEnding,
        TurnId, TurnOptions, Usage,
    },
    session::{RuntimeContext, turn::sign::Sign},
    test_runtime::{TestRuntime, in_time, kim, session},
    testing::{FakeTool, Gate, Probe},
};

/// A dispatcher that loses the first call of this tool when its gate is open, and passes all others
/// on.
struct Loses {
    tool: &'static str,
    gate: Gate,
    to: Address<DispatcherMsg>,
}

impl Actor for Loses {
    type Msg = DispatcherMsg;
    type State = ControlFlow<()>;
    type Arguments = ();

    async fn pre_start(
        &self,
        _: ActorRef<DispatcherMsg>,
        (): (),
    ) -> Result<ControlFlow<()>, ActorProcessingErr> {
        Ok(ControlFlow::Continue(()))
    }

    async fn handle(
        &self,
        _: ActorRef<DispatcherMsg>,
        msg: DispatcherMsg,
        has_lost: &mut ControlFlow<()>,
    ) -> Result<(), ActorProcessingErr> {
        match &msg {
            DispatcherMsg::Dispatch { request, .. }
                if has_lost.is_continue() && &*request.call.name == self.tool =>
            {
                *has_lost = ControlFlow::Break(());
                let gate = self.gate.clone();
                spawn(async move {
                    gate.pass().await;
                    drop(msg);
                });
            }
            DispatcherMsg::Dispatch { .. } | DispatcherMsg::RunningCalls { .. } => {
                self.to.send(msg).expect("the dispatcher lives");
            }
        }
        Ok(())
    }
}

/// A dispatcher that passes the first call on, and loses its reply when the gate is open.
struct LosesReply {
    gate: Gate,
    to: Address<DispatcherMsg>,
}

impl Actor for LosesReply {
    type Msg = DispatcherMsg;
    type State = ControlFlow<()>;
    type Arguments = ();

    async fn pre_start(
        &self,
        _: ActorRef<DispatcherMsg>,
        (): (),
    ) -> Result<ControlFlow<()>, ActorProcessingErr> {
        Ok(ControlFlow::Continue(()))
    }

    async fn handle(
        &self,
        _: ActorRef<DispatcherMsg>,
        msg: DispatcherMsg,
        has_lost: &mut ControlFlow<()>,
    ) -> Result<(), ActorProcessingErr> {
        let msg = match msg {
            DispatcherMsg::Dispatch { request, reply } if has_lost.is_continue() => {
                *has_lost = ControlFlow::Break(());
                let gate = self.gate.clone();
                spawn(async move {
                    gate.pass().await;
                    drop(reply);
                });
                let lost = DispatcherEvent::Lost { call: request.call.id, seq: request.seq };
                let reply = Reply::new(Recipient::discard(), lost);
                DispatcherMsg::Dispatch { request, reply }
            }
            DispatcherMsg::Dispatch { .. } | DispatcherMsg::RunningCalls { .. } => msg,
        };
        self.to.send(msg).expect("the dispatcher lives");
        Ok(())
    }
}

fn by_way_of(runtime: &mut TestRuntime, dispatcher: Address<DispatcherMsg>) {
    runtime.context = Arc::new(RuntimeContext { dispatcher, ..(*runtime.context).clone() });
}

/// Gives the address of an actor that has ended.
async fn deaf_dispatcher(runtime: &TestRuntime) -> Address<DispatcherMsg> {
    let gate = Gate::new();
    let to = runtime.handles.dispatcher.clone();
    let (gone, ended) = Loses::spawn(None, Loses { tool: "", gate, to }, ()).await.unwrap();
    gone.stop(None);
    in_time(ended).await.unwrap();
    Address::new(gone)
}

#[tokio::test]
async fn a_call_lost_before_it_began_runs_once_whatever_the_calls_beside_it_have_done() {
    let lost = FakeTool::read("lost");
    let other = FakeTool::read("other");
    let runs = [lost.runs(), other.runs()];
    let (mut runtime, mut script) = by_hand([lost, other]).await;
    let gate = Gate::new();
    let to = runtime.handles.dispatcher.clone();
    let loses = Loses { tool: "lost", gate: gate.clone(), to };
    let (loses, _) = Loses::spawn(None, loses, ()).await.unwrap();
    by_way_of(&mut runtime, Address::new(loses));
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["lost", "other"]));
    in_time(async {
        while !runtime.ledger().await.iter().any(|row| row.state == CallState::Ended) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(runtime.ledger().await[0].state, CallState::Proposed, "this one waits");
    gate.open();
    script.next().await.say("Seen.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    let rows = runtime.at_rest().await;
    assert!(rows.iter().all(|row| row.outcome.as_ref().unwrap().is_ok()), "{rows:?}");
    assert_eq!(runs.map(|runs| runs.count()), [1, 1]);
}

#[tokio::test]
async fn a_call_that_was_recorded_and_lost_waits_for_its_permit() {
    let held = Gate::new();
    let lost = FakeTool::read("lost");
    let hold = FakeTool::read("hold").gate(&held);
    let limits = Limits { max_running_calls: 1, ..Limits::default() };
    let (mut runtime, mut script) = by_hand_with(limits, [lost, hold]).await;
    let gate = Gate::new();
    let to = runtime.handles.dispatcher.clone();
    let loses = Loses { tool: "lost", gate: gate.clone(), to };
    let (loses, _) = Loses::spawn(None, loses, ()).await.unwrap();
    by_way_of(&mut runtime, Address::new(loses));
    let [a, b] = [runtime.slot("a").await, runtime.slot("b").await];
    let first = runtime.ask(&a, "go").await.unwrap();
    script.next().await.finish(calling("Well.", &["lost"]));
    let second = runtime.ask(&b, "go").await.unwrap();
    script.next().await.finish(calling("", &["hold"]));
    in_time(held.arrived(1)).await;
    gate.open();
    let admission = &runtime.handles.calls.admission;
    in_time(async {
        while !admission.is_wanted(Bound::RunningCalls, &kim()) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    held.open();
    for _ in 0..2 {
        script.next().await.say("Seen.");
    }
    for end in [first, second] {
        assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    }
    let rows = runtime.at_rest().await;
    assert!(rows.iter().all(|row| row.outcome.as_ref().unwrap().is_ok()), "{rows:?}");
}

#[tokio::test]
async fn a_call_that_writes_and_was_lost_before_it_began_runs_once() {
    for tool in [FakeTool::write("save"), FakeTool::transactional("save")] {
        let runs = tool.runs();
        let (mut runtime, mut script) = by_hand([tool]).await;
        let gate = Gate::new();
        let to = runtime.handles.dispatcher.clone();
        gate.open();
        let (loses, _) = Loses::spawn(None, Loses { tool: "save", gate, to }, ()).await.unwrap();
        by_way_of(&mut runtime, Address::new(loses));
        let slot = runtime.slot("s").await;
        let end = runtime.ask(&slot, "go").await.unwrap();
        script.next().await.finish(calling("", &["save", "save"]));
        script.next().await.say("Saved.");
        assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
        let effects: Vec<_> = runtime.at_rest().await.iter().map(|row| row.effect).collect();
        assert_eq!(effects, [Some(Effect::Committed); 2]);
        assert_eq!(runs.count(), 2, "each once");
    }
}

#[tokio::test]
async fn a_running_call_whose_reply_was_lost_is_not_rerun_and_may_have_had_its_effect() {
    let held = Gate::new();
    let tool = FakeTool::write("mail").gate(&held);
    let runs = tool.runs();
    let (mut runtime, mut script) = by_hand([tool]).await;
    let gate = Gate::new();
    let to = runtime.handles.dispatcher.clone();
    let loses = LosesReply { gate: gate.clone(), to };
    let (loses, _) = LosesReply::spawn(None, loses, ()).await.unwrap();
    by_way_of(&mut runtime, Address::new(loses));
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    in_time(held.arrived(1)).await;
    gate.open();
    script.next().await.say("Perhaps it was sent.");
    in_time(end).await.unwrap();
    assert_eq!(runtime.ledger().await[0].effect, Some(Effect::Unknown));
    held.open();
    runtime.at_rest().await;
    assert_eq!(runs.count(), 1);
}

#[tokio::test]
async fn a_call_whose_dispatcher_comes_back_runs_there() {
    let tool = FakeTool::write("mail");
    let runs = tool.runs();
    let (mut runtime, mut script) = by_hand([tool]).await;
    let address = deaf_dispatcher(&runtime).await;
    by_way_of(&mut runtime, address.clone());
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    probe.until(|events| events.len() > 1).await; // it is proposed, and lost
    for _ in 0..500 {
        tokio::task::yield_now().await; // time enough to wait for the next dispatcher
    }
    address.moved(runtime.handles.dispatcher.actor());
    script.next().await.say("Sent.");
    in_time(end).await.unwrap();
    let row = runtime.at_rest().await.remove(0);
    assert_eq!((runs.count(), row.effect), (1, Some(Effect::Committed)));
}

#[tokio::test]
async fn a_call_whose_dispatcher_is_given_up_ends_as_one_that_did_nothing() {
    let tool = FakeTool::write("mail");
    let runs = tool.runs();
    let (mut runtime, mut script) = by_hand([tool]).await;
    let address = deaf_dispatcher(&runtime).await;
    address.restarts_end();
    by_way_of(&mut runtime, address);
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    script.next().await.say("It was not sent.");
    in_time(end).await.unwrap();
    let row = runtime.at_rest().await.remove(0);
    assert_eq!((runs.count(), row.effect), (0, Some(Effect::None)));
    assert!(!row.outcome.unwrap().is_ok());
}

async fn is_seen(runtime: &TestRuntime, session: &SessionId, signs: &[Sign]) -> Vec<bool> {
    let mut seen = Vec::new();
    for sign in signs {
        seen.push(sign.is_seen(session, &runtime.store).await);
    }
    seen
}

#[tokio::test]
async fn a_job_of_a_turn_is_seen_once_it_is_written_or_its_turn_is_over_and_not_before() {
    let runtime = TestRuntime::new([]).await;
    let session = session("s");
    let turn = TurnId::new(Uuid::from_u128(1));
    let at = Timestamp::from_millis(1);
    let text = text_digest("go");
    let message = ChatMessage { seq: 1, turn, at, content: Content::Cleared };
    let started = Write::TurnStarted {
        session: session.clone(),
        turn,
        at,
        options: TurnOptions::default(),
        text,
        max_stored_bytes: u64::MAX,
    };
    let step = |step| Write::Turn { session: session.clone(), turn, at, step };
    let called = |round| TurnStep::Called { round, from: 1, usage: Usage::default() };
    let signs = [
        Sign::TurnStarted(turn),
        Sign::Said(Box::new(message.clone())),
        Sign::Called { turn, round: 1 },
        Sign::Called { turn, round: 2 },
        Sign::Dismissed(turn),
        Sign::TurnEnded(turn),
    ];
    assert_eq!(is_seen(&runtime, &session, &signs).await, [false; 6], "there is no such session");
    let ended = Write::TurnEnded {
        session: session.clone(),
        turn,
        at,
        behind: 1,
        ending: TurnEnding::Failed,
        error: None,
        usage: Usage::default(),
    };
    let said = Write::Message { session: session.clone(), message };
    runtime.slot("s").await;
    for (write, expected) in [
        (started, [true, false, false, false, false, false]),
        (said, [true, true, false, false, false, false]),
        (step(called(1)), [true, true, true, false, false, false]),
        (step(called(2)), [true, true, true, true, false, false]),
        (step(TurnStep::Dismissed), [true, true, true, true, true, false]),
        (ended, [false, true, true, true, true, true]),
    ] {
        let told = format!("{write:?}");
        runtime.handles.store.write(vec![write]).await.unwrap();
        assert_eq!(is_seen(&runtime, &session, &signs).await, expected, "{told}");
    }
}

#[tokio::test]
async fn a_revocation_is_seen_if_nothing_stands_in_its_session_whatever_else_is_recorded() {
    let (runtime, mut script) = by_hand([FakeTool::destructive("mail")]).await;
    for (name, decision) in [("always", Decision::ApproveAlways), ("once", Decision::Approve)] {
        let slot = runtime.slot(name).await;
        let mut probe = Probe::new(slot.feed().subscribe());
        let end = runtime.ask(&slot, "go").await.unwrap();
        script.next().await.finish(calling("", &["mail"]));
        runtime.decide(&probe.approval_request().await, decision).await.unwrap();
        script.next().await.say("Sent.");
        in_time(end).await.unwrap();
    }
    let revoked = [Sign::Revoked];
    assert_eq!(is_seen(&runtime, &session("once"), &revoked).await, [true]);
    assert_eq!(is_seen(&runtime, &session("always"), &revoked).await, [false]);
    let session = session("always");
    let by = kim();
    let at = Timestamp::from_millis(1);
    let revoke = Write::Revoke { session: session.clone(), tool: None, by, at };
    runtime.handles.store.write(vec![revoke]).await.unwrap();
    assert_eq!(is_seen(&runtime, &session, &revoked).await, [true]);
}
