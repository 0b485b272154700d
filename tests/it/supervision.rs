//! A failure stays where it happened: one call, one turn, one session; the others never notice.

use std::time::Duration;

use madang::{
    Asks, Error, Health, IdempotencyKey, Limits, Runtime, SessionId, TurnOptions,
    approval::{Approver, Decision},
    error::TurnError,
    event::TurnEnding,
    model::Completion,
    store::{Store, StoreError, port::SubmittedTurn},
    tool::BoxFuture,
};
use madang_testing::{
    MemoryStore, Probe, RuntimeHooks as _, ScriptedCompletion, ScriptedModel, SteppedStore, Steps,
    model_pair,
};
use serde_json::json;

use crate::support::{PATIENCE, TestRuntime, kind, wanted};

fn call(name: &str) -> Completion {
    let call = wanted(name, &json!({ "name": "a" }));
    Completion { tool_calls: vec![call], ..Completion::default() }
}

#[tokio::test]
async fn the_dispatcher_is_killed_in_mid_call_and_the_call_still_ends() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    script.next().await.finish(call("slow_note"));
    test.gate.begun(1).await;
    test.runtime.actors().dispatcher.actor().kill();
    test.gate.open(1);
    script.next().await.say("Done.");
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
    assert_eq!(test.rows().len(), 1);
    test.shutdown().await;
}

#[tokio::test]
async fn calls_that_the_dispatcher_takes_into_its_grave_are_dispatched_again() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    // Restart intensity is bounded, so there are few of these kills.
    for number in 0..4 {
        let session =
            test.runtime.user("kim").unwrap().session(&format!("s{number}")).await.unwrap();
        let turn = session.send("go").await.unwrap();
        let completion = script.next().await;
        test.runtime.actors().dispatcher.actor().kill();
        completion.finish(call("note"));
        script.next().await.say("Done.");
        assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
    }
    assert_eq!(test.rows().len(), 1);
    test.shutdown().await;
}

#[tokio::test]
async fn a_question_that_is_lost_with_the_confirm_actor_is_asked_again() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("go").await.unwrap();
    script.next().await.finish(call("save"));
    let request = probe.approval_request().await;
    let confirm = test.runtime.actors().confirm.clone();
    let gone = confirm.actor();
    gone.kill();
    confirm.after(&gone).await;
    // Until the call has asked again, an answer finds no question.
    let answered = async {
        while session.decide(&request, Decision::Approve).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, answered).await.unwrap();
    script.next().await.say("Saved.");
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
    assert_eq!(test.rows().len(), 1);
    test.shutdown().await;
}

#[tokio::test]
async fn the_model_actor_is_killed_while_it_streams_and_the_turn_says_so() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("go").await.unwrap();
    let completion = script.next().await;
    completion.delta("Hel");
    probe.until_streamed("Hel").await;
    let llm = test.runtime.actors().llms[0].clone();
    let gone = llm.actor();
    gone.kill();
    let end = turn.ended().await.unwrap();
    assert_eq!(end.error, Some(TurnError::model("EngineDied")));
    llm.after(&gone).await;
    let turn = session.send("again").await.unwrap();
    script.next().await.say("Hello again.");
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
    test.shutdown().await;
}

#[tokio::test]
async fn a_model_that_panics_ends_one_turn() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    script.next().await.panic("inside the model");
    let end = turn.ended().await.unwrap();
    assert_eq!(end.error, Some(TurnError::model("EngineDied")));
    let turn = session.send("again").await.unwrap();
    script.next().await.say("Hello again.");
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
    test.shutdown().await;
}

#[tokio::test]
async fn the_store_actor_is_killed_between_turns_and_nothing_is_lost() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    script.next().await.finish(call("note"));
    script.next().await.say("Noted.");
    turn.ended().await.unwrap();
    let store = test.runtime.actors().store_actor.clone();
    let gone = store.actor();
    gone.kill();
    store.after(&gone).await;
    let turn = session.send("again").await.unwrap();
    script.next().await.say("Still here.");
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
    assert_eq!(session.state().await.unwrap().messages.len(), 5);
    test.shutdown().await;
}

#[tokio::test]
async fn an_actor_that_dies_again_and_again_makes_the_runtime_unhealthy() {
    let limits = Limits { max_restarts: 2, ..Limits::default() };
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let confirm = test.runtime.actors().confirm.clone();
    for _ in 0..2 {
        let gone = confirm.actor();
        gone.kill();
        confirm.after(&gone).await;
    }
    assert_eq!(test.runtime.health(), Health::Healthy);
    confirm.actor().kill();
    let mut health = test.runtime.actors().health.clone();
    let unhealthy =
        health.wait_for(|health| *health == Health::Unhealthy { actor: "confirm", model: None });
    let _ = tokio::time::timeout(PATIENCE, unhealthy).await.unwrap().unwrap();
    test.shutdown().await;
}

/// Panics of all kinds, dismissals and kills in other sessions, while one session talks on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_healthy_session_beside_all_of_it_never_notices() {
    let unhealthy =
        ["panic_text", "panic_custom", "panic_in_drop", "panic_locked", "panic_note", "fail"];
    let mut model = ScriptedModel::repeating([
        ScriptedCompletion::call("search", &json!({})),
        ScriptedCompletion::text("All is well."),
    ]);
    for name in unhealthy {
        let script = [
            ScriptedCompletion::call(name, &json!({ "name": "a" })),
            ScriptedCompletion::text("Hm."),
        ];
        model = model.for_session(
            madang::SessionId::new(name).unwrap(),
            std::iter::repeat_n(script, 20).flatten(),
        );
    }
    let test = TestRuntime::new(model).await;
    let others: Vec<_> =
        unhealthy.map(|name| tokio::spawn(talk(test.runtime.clone(), name, 20))).into();
    let healthy = talk(test.runtime.clone(), "healthy", 40);
    let endings = tokio::time::timeout(Duration::from_secs(60), healthy).await.unwrap();
    assert_eq!(endings, vec![TurnEnding::Answered; 40]);
    for other in others {
        assert_eq!(other.await.unwrap(), vec![TurnEnding::Answered; 20]);
    }
    assert_eq!(kind(&test.call("search", &json!({}), Approver::None).await), "ok");
    test.shutdown().await;
}

async fn talk(runtime: Runtime, session: &str, turns: usize) -> Vec<TurnEnding> {
    let session = runtime.user("kim").unwrap().session(session).await.unwrap();
    let mut endings = Vec::new();
    for _ in 0..turns {
        let options = TurnOptions { asks: Asks::Nobody, ..TurnOptions::default() };
        let turn = session.send_with("go", options).await.unwrap();
        endings.push(turn.ended().await.unwrap().ending);
    }
    endings
}

/// Panics where it looks for the turn of a key.
#[derive(Debug)]
struct PanicsAtKeys;

impl Steps for PanicsAtKeys {
    fn submitted<'a>(
        &'a self,
        _: &'a dyn Store,
        _: &'a SessionId,
        _: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<SubmittedTurn>, StoreError>> {
        Box::pin(async { panic!("the store panics") })
    }
}

#[tokio::test]
async fn a_store_that_panics_over_a_key_refuses_the_turn_and_holds_no_shutdown_up() {
    let store = SteppedStore::new(MemoryStore::new(), PanicsAtKeys);
    let model = ScriptedModel::repeating([ScriptedCompletion::text("Hello.")]);
    let runtime = Runtime::builder().model(model).store(store).start().await.unwrap();
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let key = Some(IdempotencyKey::new("k").unwrap());
    let options = TurnOptions { key, ..TurnOptions::default() };
    let refused = session.send_with("hi", options).await;
    assert!(matches!(refused, Err(Error::Store(_))), "{refused:?}");
    let ended = session.send("hi").await.unwrap().ended().await.unwrap();
    assert_eq!(ended.ending, TurnEnding::Answered);
    tokio::time::timeout(PATIENCE, runtime.shutdown()).await.unwrap().unwrap();
}
