//! The runtime gives up an actor that fails too often, and says so. Callers of that actor are told
//! at once instead of waiting for it.

use std::time::Duration;

use madang::{
    Error, Health, Limits,
    approval::{Approver, Decision},
    error::{DecisionError, ReplyError, TurnError},
    event::{EventKind, TurnEnding},
    ledger::LedgerFilter,
    model::Completion,
    store::StoreError,
    tool::{CancelReason, ToolOutcome},
};
use madang_testing::{HandScript, Probe, RuntimeHooks as _, model_pair};
use serde_json::json;

use crate::support::{PATIENCE, TestRuntime, kind, wanted};

/// Starts a runtime that gives an actor up when it dies for the first time. Every wait for an actor
/// in it is longer than the patience of a test.
async fn test_runtime() -> (TestRuntime, HandScript) {
    let (model, script) = model_pair();
    let limits = Limits {
        max_restarts: 0,
        ask_timeout: Duration::from_secs(600),
        store_timeout: Duration::from_secs(600),
        ..Limits::default()
    };
    (TestRuntime::with_limits(model, limits).await, script)
}

async fn reaches_its_limit(test: &TestRuntime, actor: &'static str) {
    let mut health = test.runtime.actors().health.clone();
    let unhealthy = health.wait_for(|health| *health == Health::Unhealthy { actor, model: None });
    let _ = in_time(unhealthy).await.unwrap();
    assert_eq!(test.runtime.health(), Health::Unhealthy { actor, model: None });
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it comes in time")
}

fn call(name: &str) -> Completion {
    let call = wanted(name, &json!({ "name": "a" }));
    Completion { tool_calls: vec![call], ..Completion::default() }
}

/// How the calls of the model ended, as the ledger has it.
async fn ends(test: &TestRuntime) -> Vec<Option<ToolOutcome>> {
    let rows = test.runtime.ledger(&LedgerFilter::default()).await.unwrap();
    rows.into_iter().map(|row| row.outcome).collect()
}

#[tokio::test]
async fn without_a_store_actor_no_turn_begins_and_one_that_runs_is_interrupted() {
    let (test, mut script) = test_runtime().await;
    let (running, other) = (
        test.runtime.user("kim").unwrap().session("a").await.unwrap(),
        test.runtime.user("kim").unwrap().session("b").await.unwrap(),
    );
    let turn = running.send("go").await.unwrap();
    let completion = script.next().await;
    test.runtime.actors().store_actor.actor().kill();
    reaches_its_limit(&test, "store").await;
    completion.say("Done.");
    let failed = in_time(turn.text()).await.unwrap_err();
    assert!(matches!(failed, ReplyError::Interrupted { .. }), "{failed:?}");
    let refused = in_time(other.send("go")).await.unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::Unavailable { .. })), "{refused:?}");
    let report = in_time(test.runtime.user("kim").unwrap().session("new")).await;
    assert!(report.is_err(), "a session that is new must be stored");
    test.shutdown().await;
}

#[tokio::test]
async fn without_an_llm_actor_turns_end_with_the_model_s_error() {
    let (test, mut script) = test_runtime().await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    let _completion = script.next().await;
    test.runtime.actors().llms[0].actor().kill();
    reaches_its_limit(&test, "llm").await;
    let died = Some(TurnError::model("EngineDied"));
    assert_eq!(in_time(turn.ended()).await.unwrap().error, died);
    let turn = in_time(session.send("again")).await.unwrap();
    assert_eq!(in_time(turn.ended()).await.unwrap().error, died);
    // What needs no model goes on.
    assert_eq!(kind(&test.call("note", &json!({ "name": "a" }), Approver::None).await), "ok");
    test.shutdown().await;
}

#[tokio::test]
async fn without_a_confirm_actor_no_person_can_be_asked() {
    let (test, mut script) = test_runtime().await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("go").await.unwrap();
    script.next().await.finish(call("save"));
    let request = probe.approval_request().await;
    test.runtime.actors().confirm.actor().kill();
    reaches_its_limit(&test, "confirm").await;
    // The question that was open, and one that comes later.
    in_time(script.next()).await.finish(call("save"));
    in_time(script.next()).await.say("Nobody was there.");
    assert_eq!(in_time(turn.ended()).await.unwrap().ending, TurnEnding::Answered);
    probe.until_turns_ended(1).await;
    let asked = probe
        .events()
        .iter()
        .filter(|event| matches!(event.kind, EventKind::ApprovalRequested { .. }));
    let ended =
        probe.events().iter().filter(|event| matches!(event.kind, EventKind::ApprovalEnded { .. }));
    assert_eq!((asked.count(), ended.count()), (2, 2), "{}", probe.lines());
    let answered = in_time(session.decide(&request, Decision::Approve)).await;
    assert!(
        matches!(
            answered,
            Err(DecisionError::NotRecorded | DecisionError::NotKnown | DecisionError::NotOpen)
        ),
        "{answered:?}"
    );
    let unreachable = Some(ToolOutcome::cancelled(CancelReason::Unreachable));
    assert_eq!(ends(&test).await, [unreachable.clone(), unreachable]);
    assert!(test.rows().is_empty());
    test.shutdown().await;
}

#[tokio::test]
async fn without_a_dispatcher_calls_end_with_an_error_and_nothing_runs() {
    let (test, mut script) = test_runtime().await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    let completion = script.next().await;
    test.runtime.actors().dispatcher.actor().kill();
    reaches_its_limit(&test, "dispatcher").await;
    completion.finish(call("note"));
    in_time(script.next()).await.say("It did not work.");
    assert_eq!(in_time(turn.ended()).await.unwrap().ending, TurnEnding::Answered);
    assert_eq!(
        kind(&test.call("note", &json!({ "name": "a" }), Approver::None).await),
        "handler_error"
    );
    let is_failed = |end: &Option<ToolOutcome>| matches!(end, Some(ToolOutcome::Err(error)) if error.code == "handler_error");
    let ends = ends(&test).await;
    assert!(ends.len() == 2 && ends.iter().all(is_failed), "{ends:?}");
    assert!(test.rows().is_empty());
    test.shutdown().await;
}
