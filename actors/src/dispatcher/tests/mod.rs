//! Calls through the dispatcher, with the memory store below and fake tools inside. They cover the
//! rows of the dispatch table, questions, bounds, late ends, and what is left when an actor is
//! killed.
//!
//! - Before the handler: `preparing`, `shown`, `approvals`, `standing`, `moments`, `resources`.
//! - The handler and its end: `beginning`, `late`, `doubts`, `going_on`.

mod approvals;
mod beginning;
mod doubts;
mod going_on;
mod late;
mod moments;
mod preparing;
mod resources;
mod shown;
mod standing;

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::{
    CancelCause::{self, Dismissed},
    DispatcherEvent, DispatcherMsg, end_lost,
};
use crate::{
    protocol::{
        ApprovalEnd, Asks, CallResult, CancelReason, Decision, Effect, Fault, Limits, OnDismiss,
        ToolOutcome,
    },
    test_runtime::{OneCall, PATIENCE, TestRuntime, in_time, kind},
    testing::{End, FakeTool, Gate, Payload, ScriptedModel},
};

/// A moment that is over soon.
const SHORT: Duration = Duration::from_millis(30);
/// For what must happen in it, and for its passing to be waited for.
const LONG_ENOUGH: Duration = Duration::from_secs(2);

async fn runtime_with(change: impl FnOnce(&mut Limits), tools: Vec<FakeTool>) -> TestRuntime {
    let mut limits = Limits::default();
    change(&mut limits);
    TestRuntime::with(limits, ScriptedModel::new([]), tools).await
}

fn hasty(tool: FakeTool) -> FakeTool {
    tool.with_spec(|spec| spec.timeout(SHORT))
}

#[tokio::test]
async fn each_end_of_a_handler_is_one_outcome_with_the_effect_that_it_had() {
    let lock = Arc::new(std::sync::Mutex::new(()));
    let ends = [
        (End::Echo, "ok"),
        (End::Refuse("r3_quota", "three already"), "r3_quota"),
        (End::Give(ToolOutcome::error("own", "its own")), "own"),
        (End::Give(ToolOutcome::cancelled(CancelReason::Denied)), "denied"),
        (End::Fail(Fault::SERIALIZE), "handler_error"),
        (End::Panic("secret"), "handler_error"),
        (End::PanicWith(Payload), "handler_error"),
        (End::PanicHolding(lock.clone()), "handler_error"),
    ];
    for (end, word) in ends {
        let is_unexpected = word == "handler_error";
        let tools = [
            FakeTool::read("read").end(end.clone()),
            FakeTool::read_store("look").end(end.clone()),
            FakeTool::write("mail").end(end.clone()),
            FakeTool::transactional("save").end(end.clone()),
        ];
        let test = TestRuntime::new(tools).await;
        let done = if word == "ok" { Effect::Committed } else { Effect::None };
        let mailed = if is_unexpected { Effect::Unknown } else { done };
        for (tool, effect) in
            [("read", Effect::None), ("look", Effect::None), ("mail", mailed), ("save", done)]
        {
            let ended = test.call(tool, r#"{"a":1}"#).await;
            assert_eq!(kind(&ended), format!("{word}, {effect:?}"), "{tool} {end:?}");
            assert!(ended.is_recorded);
            if is_unexpected {
                assert!(!ended.record.outcome.unwrap().to_string().contains("secret"));
            }
        }
        assert_eq!(test.store.connection().values().len(), usize::from(word == "ok"));
        let rows = test.at_rest().await;
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[3].effect, Some(done), "{end:?}");
    }
    assert!(lock.is_poisoned());
}

#[tokio::test]
async fn refusals_need_no_handler_and_are_recorded() {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let tool = FakeTool::transactional("save").parameters(schema);
    let runs = tool.runs();
    let test = TestRuntime::new([tool]).await;
    for (name, arguments, word) in [
        ("gone", "{}", "unknown_tool"),
        ("", "<call>", "unknown_tool"),
        ("save", r#"{"name":1}"#, "validation"),
        ("save", "[", "validation"),
    ] {
        let ended = test.call(name, arguments).await;
        assert_eq!(kind(&ended), format!("{word}, None"));
        assert_eq!(ended.record.arguments, json!(arguments).into(), "the raw text is kept");
    }
    assert_eq!(runs.count(), 0);
    assert_eq!(test.at_rest().await.len(), 4);
}

#[tokio::test]
async fn what_was_approved_is_run_once_and_what_was_not_is_never_run() {
    let tool = FakeTool::destructive_transactional("save").consequence("Saves.");
    let runs = tool.runs();
    let test = TestRuntime::new([tool]).await;
    for (decision, expected) in
        [(Decision::Approve, "ok, Committed"), (Decision::Deny, "denied, None")]
    {
        let mut call = test.begin("save", r#"{"a":1}"#).await;
        let request = call.approval_request().await;
        assert_eq!((&*request.tool, &*request.consequence), ("save", "Saves."));
        test.decide(&request, decision).await.unwrap();
        assert_eq!(kind(&call.end().await), expected);
        assert!(test.decide(&request, Decision::Approve).await.is_err(), "used up");
    }
    let unattended = |request: &mut super::DispatchRequest| request.asks = Asks::Nobody;
    let mut unreachable = test.begin_with("save", "{}", unattended).await;
    assert_eq!(kind(&unreachable.end().await), "unreachable, None");
    assert_eq!(runs.count(), 1);
    let rows = test.at_rest().await;
    let deciders: Vec<_> = rows.iter().map(|row| row.decided_by.is_some()).collect();
    assert_eq!(deciders, [true, true, false]);
}

#[tokio::test]
async fn the_predicate_decides_which_arguments_are_asked_about() {
    let tool = FakeTool::destructive("mail").asks(|arguments| arguments["to"] != "me");
    let test = TestRuntime::new([tool]).await;
    assert_eq!(kind(&test.call("mail", r#"{"to":"me"}"#).await), "ok, Committed");
    let mut asked = test.begin("mail", r#"{"to":"all"}"#).await;
    let request = asked.approval_request().await;
    test.decide(&request, Decision::Deny).await.unwrap();
    assert_eq!(kind(&asked.end().await), "denied, None");
}

/// Two threads, and many tries: an answer must never be quicker than its question.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_can_be_answered_as_soon_as_it_is_heard_of() {
    let test = TestRuntime::new([FakeTool::destructive("mail")]).await;
    for _ in 0..200 {
        let mut call = test.begin("mail", "{}").await;
        let request = call.approval_request().await;
        test.decide(&request, Decision::Approve).await.unwrap();
        assert_eq!(kind(&call.end().await), "ok, Committed");
    }
    test.at_rest().await;
}

#[tokio::test]
async fn a_question_expires_and_too_many_are_refused() {
    let test = runtime_with(
        |limits| {
            limits.decision_timeout = SHORT;
            limits.max_approval_requests = 0;
        },
        vec![FakeTool::destructive("mail")],
    )
    .await;
    assert_eq!(kind(&test.call("mail", "{}").await), "overloaded, None");
    let test =
        runtime_with(|limits| limits.decision_timeout = SHORT, vec![FakeTool::destructive("mail")])
            .await;
    let mut call = test.begin("mail", "{}").await;
    call.approval_request().await;
    let expired = ApprovalEnd::Cancelled { reason: CancelReason::Expired };
    let super::DispatcherEvent::ApprovalEnded { end, .. } = call.next().await else {
        panic!("the question ends before the call does");
    };
    assert_eq!(end, expired);
    assert_eq!(kind(&call.end().await), "expired, None");
    test.at_rest().await;
}

#[tokio::test]
async fn a_call_dismissed_before_its_answer_is_not_run_and_once_begun_it_is_discarded() {
    for mode in [OnDismiss::Stop, OnDismiss::Finish] {
        let gate = Gate::new();
        let tools = [FakeTool::destructive("mail"), FakeTool::write("post").gate(&gate)];
        let test = TestRuntime::new(tools).await;
        let mut asked = test.begin("mail", "{}").await;
        asked.approval_request().await;
        asked.cancel(Dismissed(mode));
        assert_eq!(kind(&asked.end().await), "dismissed, None");
        let mut running = test.begin("post", "{}").await;
        in_time(gate.arrived(1)).await;
        running.cancel(Dismissed(mode));
        gate.open();
        let ended = running.end().await;
        assert_eq!(kind(&ended), "discarded, Committed");
        assert_eq!(ended.record.result, CallResult::Discarded);
        test.at_rest().await;
    }
}

#[tokio::test]
async fn a_lost_question_is_asked_again_and_heard_of_again() {
    let test = TestRuntime::new([FakeTool::destructive("mail")]).await;
    let mut call = test.begin("mail", "{}").await;
    call.approval_request().await;
    test.handles.confirm.actor().kill();
    let again = call.approval_request().await;
    test.decide(&again, Decision::Approve).await.unwrap();
    assert_eq!(kind(&call.end().await), "ok, Committed");
    test.at_rest().await;
}

#[tokio::test]
async fn a_tool_runs_as_often_at_once_as_it_said_and_waiting_for_it_has_an_end() {
    let gate = Gate::new();
    let tool = FakeTool::write("mail").gate(&gate).with_spec(|spec| spec.max_concurrent(1));
    let runs = tool.runs();
    let test = TestRuntime::new([tool]).await;
    let mut first = test.begin("mail", "{}").await;
    in_time(gate.arrived(1)).await;
    let mut second = test.begin("mail", "{}").await;
    gate.release();
    assert_eq!(kind(&first.end().await), "ok, Committed");
    in_time(gate.arrived(2)).await;
    gate.release();
    assert_eq!(kind(&second.end().await), "ok, Committed");

    // A handler that never ends keeps its permit: others are told instead of waiting with it.
    let stuck = Gate::new();
    let tool = hasty(FakeTool::write("mail")).gate(&stuck).with_spec(|spec| spec.max_concurrent(1));
    let test = TestRuntime::new([tool]).await;
    assert_eq!(kind(&test.call("mail", "{}").await), "timeout, Unknown");
    assert_eq!(kind(&test.call("mail", "{}").await), "overloaded, None");
    stuck.open();
    assert_eq!(test.at_rest().await[0].effect, Some(Effect::Committed), "its late end");
    assert_eq!(runs.count(), 2);
}

#[tokio::test]
async fn a_transaction_past_its_deadline_is_undone_and_the_next_one_runs() {
    let gate = Gate::new();
    let tools = vec![FakeTool::transactional("slow").gate(&gate), FakeTool::transactional("save")];
    let test = runtime_with(|limits| limits.transaction_deadline = SHORT, tools).await;
    assert_eq!(kind(&test.call("slow", "{}").await), "timeout, None");
    assert_eq!(kind(&test.call("save", "{}").await), "ok, Committed");
    assert_eq!(test.store.connection().values().into_keys().collect::<Vec<_>>(), ["save"]);
    test.at_rest().await;
}

/// A call whose handler waits with the open transaction in its hands.
async fn holding_the_transaction() -> (TestRuntime, OneCall, Gate) {
    let gate = Gate::new();
    let tool = FakeTool::transactional("save").gate(&gate);
    let test = runtime_with(|limits| limits.transaction_deadline = PATIENCE, vec![tool]).await;
    let call = test.begin("save", "{}").await;
    in_time(gate.arrived(1)).await;
    (test, call, gate)
}

#[tokio::test]
async fn killing_the_store_actor_while_a_handler_holds_the_transaction_loses_nothing() {
    let (test, mut call, gate) = holding_the_transaction().await;
    let gone = test.handles.store_actor.actor();
    gone.kill();
    in_time(test.handles.store_actor.after(&gone)).await;
    gate.open();
    assert_eq!(kind(&call.end().await), "ok, Committed");
    assert_eq!(test.store.connection().values().len(), 1);
    test.at_rest().await;
}

#[tokio::test]
async fn killing_the_dispatcher_changes_no_outcome() {
    let gate = Gate::new();
    let test = TestRuntime::new([FakeTool::write("mail").gate(&gate)]).await;
    let mut call = test.begin("mail", "{}").await;
    in_time(gate.arrived(1)).await;
    let gone = test.handles.dispatcher.actor();
    gone.kill();
    in_time(test.handles.dispatcher.after(&gone)).await;
    let running = |reply| DispatcherMsg::RunningCalls { reply };
    assert_eq!(test.handles.dispatcher.ask(running, PATIENCE).await.unwrap(), 1);
    gate.open();
    assert_eq!(kind(&call.end().await), "ok, Committed");
    test.at_rest().await;
}

#[tokio::test]
async fn a_call_that_lost_its_actors_is_resolved_by_what_the_ledger_knows() {
    let gate = Gate::new();
    let tools = [FakeTool::write("mail").gate(&gate), FakeTool::write("never")];
    let test = TestRuntime::new(tools).await;
    let mut ended = test.begin("mail", "{}").await;
    in_time(gate.arrived(1)).await;
    gate.open();
    let end = ended.end().await;
    let ended_again =
        end_lost(&test.handles.calls, ended.request.clone(), &Fault::REPLY_LOST).await;
    assert_eq!(ended_again.record.outcome, end.record.outcome, "the end that the ledger has");
    let unheard = test.begin_with("never", "{}", |request| request.call.name = "gone".into()).await;
    let id = crate::protocol::CallId::new(uuid::Uuid::now_v7());
    let call = crate::protocol::ToolCall { id, ..unheard.request.call.clone() };
    let request = super::DispatchRequest { call, seq: 2, ..(*unheard.request).clone() };
    let ended_again = end_lost(&test.handles.calls, Arc::new(request), &Fault::REPLY_LOST).await;
    assert_eq!(kind(&ended_again), "handler_error, None", "it had not begun");
    test.at_rest().await;
}

#[tokio::test]
async fn a_call_that_waits_for_a_permit_does_not_begin_once_its_screen_or_runtime_closes() {
    let gate = Gate::new();
    let tool = FakeTool::write("mail").gate(&gate).with_spec(|spec| spec.max_concurrent(1));
    let runs = tool.runs();
    let test = TestRuntime::new([tool]).await;
    let mut running = test.begin("mail", "{}").await;
    in_time(gate.arrived(1)).await;
    let mut dismissed = test.begin("mail", "{}").await;
    dismissed.cancel(Dismissed(OnDismiss::Stop));
    assert_eq!(kind(&dismissed.end().await), "withdrawn, None", "no person was asked");
    let mut left = test.begin("mail", "{}").await;
    left.cancel(CancelCause::Suspended);
    let event = left.next().await;
    assert!(
        matches!(event, DispatcherEvent::Left { call } if call == left.request.call.id),
        "{event:?}"
    );
    gate.open();
    assert_eq!(kind(&running.end().await), "ok, Committed");
    assert_eq!(runs.count(), 1);
    test.at_rest().await;
}
