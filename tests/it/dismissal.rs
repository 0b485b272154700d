//! Closing the screen cancels the model and open questions; a handler that has begun commits and
//! its result is discarded.

use expect_test::expect;
use madang::{
    Error, IdempotencyKey, OnDismiss, Session, Turn, TurnOptions,
    approval::Decision,
    error::DecisionError,
    event::TurnEnding,
    ledger::{Effect, LedgerFilter},
    model::{Completion, PromptMessage},
    turn::When,
};
use madang_testing::{HandScript, Probe, model_pair};
use serde_json::json;

use crate::support::{TestRuntime, wanted};

struct Scene {
    test: TestRuntime,
    session: Session,
    script: HandScript,
    probe: Probe,
}

impl Scene {
    async fn new() -> Self {
        let (model, script) = model_pair();
        let test = TestRuntime::new(model).await;
        let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
        let probe = Probe::new(session.subscribe());
        Self { test, session, script, probe }
    }

    async fn ask(&self, on_dismiss: OnDismiss) -> Turn {
        let options = TurnOptions { on_dismiss, ..TurnOptions::default() };
        self.session.send_with("go", options).await.unwrap()
    }

    /// The model asks for this tool.
    async fn model_calls(&mut self, name: &str) {
        let call = wanted(name, &json!({ "name": "a" }));
        self.script
            .next()
            .await
            .finish(Completion { tool_calls: vec![call], ..Completion::default() });
    }
}

#[tokio::test]
async fn dismissed_while_the_model_streams_its_text_stays_as_interrupted_without_an_error() {
    let mut scene = Scene::new().await;
    let turn = scene.ask(OnDismiss::Stop).await;
    let completion = scene.script.next().await;
    completion.delta("Hel");
    scene.probe.until_streamed("Hel").await;
    scene.session.dismiss().await.unwrap();
    completion.cancelled().await;
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
    scene.probe.until_turns_ended(1).await;
    expect![[r#"
        user: go
        model: Hel (Interrupted)
        turn ended Dismissed"#]]
    .assert_eq(&scene.probe.lines());
    assert_eq!(scene.session.state().await.unwrap().error, None);
    scene.test.shutdown().await;
}

#[tokio::test]
async fn dismissed_while_a_question_is_open_the_call_is_cancelled_as_dismissed() {
    let mut scene = Scene::new().await;
    let turn = scene.ask(OnDismiss::Stop).await;
    scene.model_calls("save").await;
    let request = scene.probe.approval_request().await;
    scene.session.dismiss().await.unwrap();
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
    scene.probe.until_turns_ended(1).await;
    expect![[r#"
        user: go
        proposed save {"name":"a"}
        asked save {"name":"a"}
        question ended Dismissed
        call save {"name":"a"} -> {"status":"cancelled","reason":"dismissed"} effect None
        turn ended Dismissed"#]]
    .assert_eq(&scene.probe.lines());
    let late = scene.session.decide(&request, madang::approval::Decision::Approve).await;
    assert_eq!(late, Err(madang::error::DecisionError::NotOpen));
    assert!(scene.test.rows().is_empty());
    scene.test.shutdown().await;
}

#[tokio::test]
async fn dismissed_while_a_handler_runs_its_row_commits_and_its_result_is_discarded() {
    let mut scene = Scene::new().await;
    let turn = scene.ask(OnDismiss::Stop).await;
    scene.model_calls("slow_note").await;
    scene.test.gate.begun(1).await;
    let dismissed = scene.session.dismiss().await.unwrap();
    assert!(!scene.session.state().await.unwrap().is_streaming, "the screen is free at once");
    scene.test.gate.open(1);
    dismissed.stored().await.unwrap();
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
    scene.probe.until_turns_ended(1).await;
    expect![[r#"
        user: go
        proposed slow_note {"name":"a"}
        call slow_note {"name":"a"} -> discarded effect Committed discarded
        turn ended Dismissed"#]]
    .assert_eq(&scene.probe.lines());
    assert_eq!(scene.test.rows().len(), 1);
    let rows = scene.test.runtime.ledger(&LedgerFilter::default()).await.unwrap();
    assert_eq!(rows[0].effect, Some(Effect::Committed));

    // The next turn tells the model that the call took effect, and not what it gave.
    let turn = scene.ask(OnDismiss::Stop).await;
    let next = scene.script.next().await;
    let told = next.request().messages.iter().find_map(|message| match message {
        PromptMessage::ToolCall { envelope, .. } => Some(envelope.to_string()),
        PromptMessage::User { .. } | PromptMessage::Model { .. } => None,
    });
    let told = told.expect("the call is in the chat");
    assert!(
        told.contains(r#""status":"discarded","effect":"committed""#) && !told.contains("saved"),
        "{told}"
    );
    next.say("ok");
    turn.ended().await.unwrap();
    scene.test.shutdown().await;
}

#[tokio::test]
async fn a_dismissal_lets_no_call_behind_a_running_one_begin_and_the_model_hears_of_each() {
    let mut scene = Scene::new().await;
    let turn = scene.ask(OnDismiss::Stop).await;
    let calls = ["slow_note", "note", "save"].map(|name| wanted(name, &json!({ "name": name })));
    let completion = Completion { tool_calls: calls.into(), ..Completion::default() };
    scene.script.next().await.finish(completion);
    scene.test.gate.begun(1).await;
    scene.session.dismiss().await.unwrap();
    scene.test.gate.open(1);
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
    scene.probe.until_turns_ended(1).await;
    expect![[r#"
        user: go
        proposed slow_note {"name":"slow_note"}
        proposed note {"name":"note"}
        proposed save {"name":"save"}
        call slow_note {"name":"slow_note"} -> discarded effect Committed discarded
        call note "{\"name\":\"note\"}" -> {"status":"cancelled","reason":"withdrawn"} effect None
        call save "{\"name\":\"save\"}" -> {"status":"cancelled","reason":"withdrawn"} effect None
        turn ended Dismissed"#]]
    .assert_eq(&scene.probe.lines());
    let rows = scene.test.runtime.ledger(&LedgerFilter::default()).await.unwrap();
    let effects: Vec<_> = rows.iter().map(|row| row.effect.unwrap()).collect();
    assert_eq!(effects, [Effect::Committed, Effect::None, Effect::None]);
    assert_eq!(scene.test.rows().len(), 1);

    let turn = scene.ask(OnDismiss::Stop).await;
    let next = scene.script.next().await;
    let told: Vec<_> = next
        .request()
        .messages
        .iter()
        .filter_map(|message| match message {
            PromptMessage::ToolCall { name, envelope, .. } => Some(format!("{name}: {envelope}")),
            PromptMessage::User { .. } | PromptMessage::Model { .. } => None,
        })
        .collect();
    expect![[r#"
        slow_note: {"status":"discarded","effect":"committed","reason":"slow_note: 화면이 닫혀 결과를 버렸지만, 적용되었습니다."}
        note: {"status":"cancelled","reason":"the turn ended before this began, so it was not run"}
        save: {"status":"cancelled","reason":"the turn ended before this began, so it was not run"}"#]].assert_eq(&told.join("\n"));
    next.say("ok");
    turn.ended().await.unwrap();
    scene.test.shutdown().await;
}

#[tokio::test]
async fn with_finish_the_loop_goes_on_and_the_closed_screen_hears_nothing() {
    let mut scene = Scene::new().await;
    let turn = scene.ask(OnDismiss::Finish).await;
    scene.model_calls("slow_note").await;
    scene.test.gate.begun(1).await;
    scene.session.dismiss().await.unwrap();
    let mut closed = scene.probe;
    let mut opened = Probe::new(scene.session.subscribe());
    scene.test.gate.open(1);

    // A question after the dismissal counts as dismissed; the loop still goes on.
    let call = wanted("save", &json!({ "name": "b" }));
    scene
        .script
        .next()
        .await
        .finish(Completion { tool_calls: vec![call], ..Completion::default() });
    scene.script.next().await.say("Done.");
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
    opened.until_turns_ended(1).await;
    expect![[r#"
        call slow_note {"name":"a"} -> discarded effect Committed discarded
        proposed save {"name":"b"}
        call save {"name":"b"} -> {"status":"cancelled","reason":"dismissed"} effect None
        model: Done. (Complete)
        turn ended Answered"#]]
    .assert_eq(&opened.lines());
    assert!(closed.is_closed().await, "no state update reaches the closed screen");
    let outcome = turn.outcome().await.unwrap();
    assert_eq!((outcome.ending, &*outcome.text), (TurnEnding::Answered, "Done."));
    assert_eq!(outcome.calls.len(), 2, "a reader that comes later reads the whole turn");
    scene.test.shutdown().await;
}

#[tokio::test]
async fn dropping_handles_and_streams_dismisses_nothing() {
    let mut scene = Scene::new().await;
    let turn = scene.ask(OnDismiss::Stop).await;
    drop((turn, scene.probe, scene.session));
    scene.script.next().await.say("Still here.");
    let session = scene.test.runtime.user("kim").unwrap().session("s").await.unwrap();
    // The first turn goes on: until it has ended, another is refused.
    let turn = loop {
        match session.send("again").await {
            Ok(turn) => break turn,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    scene.script.next().await.say("Again.");
    turn.ended().await.unwrap();
    let state = session.state().await.unwrap();
    assert_eq!(state.messages.len(), 4);
    scene.test.shutdown().await;
}

#[tokio::test]
async fn without_a_turn_there_is_nothing_to_dismiss() {
    let scene = Scene::new().await;
    let dismissed = scene.session.dismiss().await;
    assert!(matches!(dismissed.unwrap_err(), madang::Error::NoTurn));
    scene.test.shutdown().await;
}

#[tokio::test]
async fn a_dismissal_of_one_turn_hits_that_turn_or_nothing() {
    let mut scene = Scene::new().await;
    let over = scene.ask(OnDismiss::Stop).await;
    let late = over.id();
    scene.script.next().await.say("Hello.");
    over.ended().await.unwrap();
    let next = scene.ask(OnDismiss::Stop).await;
    let completion = scene.script.next().await;
    for when in [When::Any, When::Waits] {
        assert!(scene.session.dismiss_turn(late, when).await.unwrap().is_none(), "{when:?}");
    }
    let waits = scene.session.dismiss_turn(next.id(), When::Waits).await.unwrap();
    assert!(waits.is_none(), "it runs, and waits for no person");
    completion.delta("Hel");
    scene.probe.until_streamed("Hel").await;
    let dismissed = scene.session.dismiss_turn(next.id(), When::Any).await.unwrap();
    dismissed.expect("it runs").stored().await.unwrap();
    let id = next.id();
    assert_eq!(next.ended().await.unwrap().ending, TurnEnding::Dismissed);
    assert!(scene.session.dismiss_turn(id, When::Any).await.unwrap().is_none(), "it is over");
    scene.test.shutdown().await;
}

#[tokio::test]
async fn a_new_text_takes_the_place_of_a_turn_that_waits_and_of_no_other() {
    let mut scene = Scene::new().await;
    let waits = scene.ask(OnDismiss::Stop).await;
    scene.model_calls("save").await;
    let request = scene.probe.approval_request().await;
    assert!(matches!(scene.session.send("else").await, Err(Error::Busy)));
    let dismissed = scene.session.dismiss_turn(waits.id(), When::Waits).await.unwrap();
    assert!(dismissed.is_some());
    let late = scene.session.decide(&request, Decision::Approve).await;
    assert_eq!(late, Err(DecisionError::NotOpen));
    // A caller that has only the id waits for the end like this.
    if let Some(running) = scene.session.turn().await.unwrap() {
        assert_eq!(running.id(), waits.id());
        running.ended().await.unwrap();
    }
    let options =
        TurnOptions { key: Some(IdempotencyKey::new("else").unwrap()), ..TurnOptions::default() };
    let next = scene.session.send_with("else", options).await.unwrap();
    scene.script.next().await.say("Of course.");
    assert_eq!(next.text().await.unwrap(), "Of course.");
    assert_eq!(waits.ended().await.unwrap().ending, TurnEnding::Dismissed);
    assert!(scene.test.rows().is_empty(), "nothing was done");
    scene.test.shutdown().await;
}

#[tokio::test]
async fn a_turn_about_which_a_person_has_decided_is_no_turn_that_waits() {
    let mut scene = Scene::new().await;
    let turn = scene.ask(OnDismiss::Stop).await;
    scene.model_calls("save").await;
    let request = scene.probe.approval_request().await;
    let paused = scene.test.store.pause().await;
    let runtime = scene.test.runtime.clone();
    let session = scene.session.clone();
    let id = turn.id();
    let opens = tokio::spawn(async move { runtime.user("kim").unwrap().session("other").await });
    let decides = tokio::spawn(async move { session.decide(&request, Decision::Approve).await });
    // Of the two writes one is held back and the other waits behind it. So the decision has won and
    // is not recorded, and the session shows the question still.
    scene.test.waiting(1).await;
    assert!(scene.session.state().await.unwrap().approval_request.is_some());
    assert!(scene.session.dismiss_turn(id, When::Waits).await.unwrap().is_none());
    drop(paused);
    decides.await.unwrap().unwrap();
    opens.await.unwrap().unwrap();
    // About its next request no decision has come.
    scene.model_calls("save").await;
    scene.probe.approval_request().await;
    assert_eq!(scene.test.rows().len(), 1);
    assert!(scene.session.dismiss_turn(id, When::Waits).await.unwrap().is_some());
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
    scene.test.shutdown().await;
}
