//! A turn is a loop of completions and calls that ends in one way.

use expect_test::expect;
use madang::{
    Asks, Builder, Error, LanguageTag, Runtime, SessionId, TurnOptions, UserId,
    approval::{Approver, Decision},
    error::TurnError,
    model::{Completion, ModelError},
};
use madang_actors::protocol::FinishReason;
use madang_testing::{FakeTool, MemoryStore, Probe, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::json;

use crate::support::{TestRuntime, call_then_say, kim};

fn call(name: &str) -> ScriptedCompletion {
    ScriptedCompletion::call(name, &json!({}))
}

#[tokio::test]
async fn an_answer_without_a_call_is_two_messages_and_no_streaming() {
    let test = TestRuntime::new(ScriptedModel::new([ScriptedCompletion::text("안녕!")])).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    session.send("안녕").await.unwrap().ended().await.unwrap();
    probe.until_turns_ended(1).await;
    expect![[r#"
        user: 안녕
        model: 안녕! (Complete)
        turn ended Answered"#]]
    .assert_eq(&probe.lines());
    let state = session.state().await.unwrap();
    assert_eq!((state.messages.len(), state.is_streaming, state.streaming_text), (2, false, None));
    test.shutdown().await;
}

#[tokio::test]
async fn one_call_and_an_answer_is_three_messages() {
    let test =
        TestRuntime::new(call_then_say("search", &json!({}), "카페인 프로토콜이 있어요.")).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    session.send("카페인?").await.unwrap().ended().await.unwrap();
    probe.until_turns_ended(1).await;
    expect![[r#"
        user: 카페인?
        proposed search {}
        call search {} -> {"status":"ok","data":{"count":0,"items":[]}} effect None
        model: 카페인 프로토콜이 있어요. (Complete)
        turn ended Answered"#]]
    .assert_eq(&probe.lines());
    test.shutdown().await;
}

#[tokio::test]
async fn a_destructive_call_that_is_denied_is_told_to_the_model() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("저장해줘").await.unwrap();
    script.next().await.finish(completion_of(call_to("save", &json!({ "name": "a" }))));
    let request = probe.approval_request().await;
    assert_eq!((&*request.tool, &*request.consequence), ("save", "저장합니다: a"));
    session.decide(&request, Decision::Deny).await.unwrap();
    let next = script.next().await;
    let envelope = last_envelope(next.request());
    assert_eq!(envelope, r#"{"status":"cancelled","reason":"user did not confirm"}"#);
    next.say("저장하지 않았어요.");
    turn.ended().await.unwrap();
    probe.until_turns_ended(1).await;
    expect![[r#"
        user: 저장해줘
        proposed save {"name":"a"}
        asked save {"name":"a"}
        answered Deny
        call save {"name":"a"} -> {"status":"cancelled","reason":"denied"} effect None
        model: 저장하지 않았어요. (Complete)
        turn ended Answered"#]]
    .assert_eq(&probe.lines());
    assert!(test.rows().is_empty());
    test.shutdown().await;
}

#[tokio::test]
async fn a_model_that_calls_in_every_round_is_stopped() {
    let test = TestRuntime::new(ScriptedModel::repeating([call("search")])).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    session.send("계속").await.unwrap().ended().await.unwrap();
    let state = session.state().await.unwrap();
    assert_eq!(state.error.as_deref(), Some("도구 호출 루프가 너무 길어 중단했습니다."));
    assert_eq!((state.messages.len(), state.is_streaming, state.streaming_text), (5, false, None));
    test.shutdown().await;
}

#[tokio::test]
async fn a_second_turn_while_one_runs_is_refused_and_changes_nothing() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("first").await.unwrap();
    let completion = script.next().await;
    let before = session.state().await.unwrap();
    assert!(before.is_streaming);
    assert!(matches!(session.send("second").await, Err(Error::Busy)));
    assert_eq!(session.state().await.unwrap(), before);
    completion.say("done");
    turn.ended().await.unwrap();
    test.shutdown().await;
}

#[tokio::test]
async fn a_blank_text_does_nothing() {
    let test = TestRuntime::without_model().await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    assert!(matches!(session.send(" \n\t ").await, Err(Error::Empty)));
    assert_eq!(session.state().await.unwrap().messages, []);
    test.shutdown().await;
}

#[tokio::test]
async fn streaming_text_is_empty_at_the_start_and_between_rounds_and_none_at_the_end() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("hello").await.unwrap();
    let first = script.next().await;
    assert_eq!(session.state().await.unwrap().streaming_text.as_deref(), Some(""));
    first.delta("Let me");
    probe.until_streamed("Let me").await;
    assert_eq!(session.state().await.unwrap().streaming_text.as_deref(), Some("Let me"));
    first.finish(completion_of(call_to("search", &json!({}))));
    let second = script.next().await;
    assert_eq!(session.state().await.unwrap().streaming_text.as_deref(), Some(""));
    second.say("Nothing there.");
    turn.ended().await.unwrap();
    assert_eq!(session.state().await.unwrap().streaming_text, None);
    test.shutdown().await;
}

#[tokio::test]
async fn a_chain_of_three_rounds_reaches_its_answer() {
    let model = ScriptedModel::new([
        call("search"),
        ScriptedCompletion::call("echo", &json!({ "name": "b" })).saying("Let me look."),
        ScriptedCompletion::call("save", &json!({ "name": "b" })),
        ScriptedCompletion::text("Saved b."),
    ]);
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("save b").await.unwrap();
    let request = probe.approval_request().await;
    session.decide(&request, Decision::Approve).await.unwrap();
    turn.ended().await.unwrap();
    probe.until_turns_ended(1).await;
    expect![[r#"
        user: save b
        proposed search {}
        call search {} -> {"status":"ok","data":{"count":0,"items":[]}} effect None
        model: Let me look. (Complete)
        proposed echo {"name":"b"}
        call echo {"name":"b"} -> {"status":"ok","data":{"name":"b"}} effect None
        proposed save {"name":"b"}
        asked save {"name":"b"}
        answered Approve
        call save {"name":"b"} -> {"status":"ok","data":{"saved":"b"}} effect Committed
        model: Saved b. (Complete)
        turn ended Answered"#]]
    .assert_eq(&probe.lines());
    test.shutdown().await;
}

#[tokio::test]
async fn a_turn_with_one_unasked_transactional_call_waits_three_times_for_the_store() {
    let test = TestRuntime::new(call_then_say("note", &json!({ "name": "a" }), "Noted.")).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let before = test.store.commits();
    session.send("note a").await.unwrap().ended().await.unwrap();
    assert_eq!(test.store.commits() - before, 3, "the message, the call, the answer");
    test.shutdown().await;
}

#[tokio::test]
async fn a_tool_may_end_the_turn() {
    let test = TestRuntime::new(ScriptedModel::new([call("stop")])).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let end = session.send("stop").await.unwrap().ended().await.unwrap();
    assert_eq!((end.ending, end.error), (madang::event::TurnEnding::Stopped, None));
    test.shutdown().await;
}

#[tokio::test]
async fn a_failing_model_ends_the_turn_with_its_type_and_keeps_what_it_had_said() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("hello").await.unwrap();
    let completion = script.next().await;
    completion.delta("The capital of");
    probe.until_streamed("capital of").await;
    completion.fail("Offline");
    turn.ended().await.unwrap();
    probe.until_turns_ended(1).await;
    expect![[r#"
        user: hello
        model: The capital of (Interrupted)
        error: LLM 응답 실패: Offline
        turn ended Failed"#]]
    .assert_eq(&probe.lines());
    test.shutdown().await;
}

#[tokio::test]
async fn a_script_that_runs_out_and_a_blank_answer_are_errors_of_the_model() {
    let test = TestRuntime::new(ScriptedModel::new([ScriptedCompletion::text("  ")])).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    for error in ["LLM 응답 실패: BadOutput", "LLM 응답 실패: ScriptExhausted"] {
        session.send("hello").await.unwrap().ended().await.unwrap();
        assert_eq!(session.state().await.unwrap().error.as_deref(), Some(error));
    }
    test.shutdown().await;
}

#[tokio::test]
async fn a_prompt_that_is_too_long_names_the_part_of_it_that_is_with_figures() {
    let (model, mut script) = model_pair();
    let builder = Runtime::builder().model(model).store(MemoryStore::new());
    let add =
        |builder: Builder, number| builder.tool(FakeTool::destructive(&format!("tool_{number}")));
    let runtime = (0..100).fold(builder, add).start().await.unwrap();
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let long = "word ".repeat(6_000);
    for (text, says) in [
        ("hi", "The descriptions of the tools are too long for it"),
        (long.as_str(), "The message is too long for it"),
        // What was said before is left out first, so that only an eighth of it counts.
        ("again", "The descriptions of the tools are too long for it"),
    ] {
        let turn = session.send(text).await.unwrap();
        script.next().await.fail(ModelError::PROMPT_TOO_LONG);
        let Some(TurnError::Model { prompt: Some(size), .. }) = turn.ended().await.unwrap().error
        else {
            panic!("{text} has no size")
        };
        assert_eq!((size.tools, size.message_bytes), (100, text.len() as u64));
        let error = session.state().await.unwrap().error.unwrap();
        assert!(error.contains(says), "{error}");
        let figures = format!("100 tools {},", size.tools_bytes);
        assert!(size.tools_bytes > 5_000 && error.contains(&figures), "{error}");
    }
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_model_that_runs_away_says_what_to_try_in_both_languages() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    for (kind, tag, says) in [
        (ModelError::REPETITION, LanguageTag::KO, "LLM 응답 실패: Repetition. 같은 말을 되풀이해"),
        (
            ModelError::REPETITION,
            LanguageTag::EN,
            "the model failed: Repetition. It repeated itself",
        ),
        (ModelError::TOO_LONG, LanguageTag::KO, "LLM 응답 실패: AnswerTooLong. 쓸 수 있는 답을"),
        (
            ModelError::TOO_LONG,
            LanguageTag::EN,
            "the model failed: AnswerTooLong. It reached its bound",
        ),
    ] {
        let turn = session
            .send_with("hello", TurnOptions { language: Some(tag), ..TurnOptions::default() })
            .await
            .unwrap();
        let asked = script.next().await;
        if kind == ModelError::TOO_LONG {
            let finish = FinishReason::Length;
            asked.finish(Completion { text: " ".into(), finish, ..Completion::default() });
        } else {
            asked.fail(kind);
        }
        turn.ended().await.unwrap();
        let error = session.state().await.unwrap().error.unwrap();
        assert!(error.starts_with(says), "{error}");
    }
    test.shutdown().await;
}

#[tokio::test]
async fn clearing_is_suggested_once_after_more_than_eight_turns_and_is_the_users_act() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    for number in 0..10 {
        let turn = session.send(format!("turn {number}")).await.unwrap();
        script.next().await.say("ok");
        turn.ended().await.unwrap();
    }
    probe.until_turns_ended(10).await;
    let notices: Vec<_> = probe
        .lines()
        .lines()
        .filter(|line| line.starts_with("notice"))
        .map(str::to_owned)
        .collect();
    assert_eq!(notices, ["notice: 지난 대화를 정리할까요?"]);
    session.clear().await.unwrap();
    assert_eq!(session.state().await.unwrap().messages, []);
    let turn = session.send("anew").await.unwrap();
    let completion = script.next().await;
    assert_eq!(completion.request().messages.len(), 1, "the model begins after the clearing too");
    completion.say("ok");
    turn.ended().await.unwrap();
    test.shutdown().await;
}

#[tokio::test]
async fn every_text_speaks_english_where_the_turn_does() {
    let test = TestRuntime::new(ScriptedModel::repeating([call("search")])).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let options = TurnOptions { language: Some(LanguageTag::EN), ..TurnOptions::default() };
    session.send_with("go on", options).await.unwrap().ended().await.unwrap();
    let error = session.state().await.unwrap().error.unwrap();
    assert_eq!(error, "Stopped, because the chain of tool calls became too long.");
    test.shutdown().await;
}

#[tokio::test]
async fn where_no_person_can_be_asked_the_turn_goes_on_without() {
    let test = TestRuntime::new(call_then_say(
        "save",
        &json!({ "name": "a" }),
        "I could not ask anybody.",
    ))
    .await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let options = TurnOptions { asks: Asks::Nobody, ..TurnOptions::default() };
    session.send_with("save a", options).await.unwrap().ended().await.unwrap();
    probe.until_turns_ended(1).await;
    assert!(
        probe.lines().contains(r#"{"status":"cancelled","reason":"unreachable"}"#),
        "{}",
        probe.lines()
    );
    assert!(test.rows().is_empty());
    test.shutdown().await;
}

#[tokio::test]
async fn readers_of_one_completion_run_side_by_side_and_their_outcomes_stay_in_order() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("look").await.unwrap();
    let mut completion = completion_of(call_to("slow_read", &json!({})));
    completion.tool_calls.push(call_to("search", &json!({})));
    completion.tool_calls.push(call_to("note", &json!({ "name": "after" })));
    script.next().await.finish(completion);
    test.gate.begun(1).await;
    assert!(test.rows().is_empty(), "a writer waits for the readers before it");
    test.gate.open(1);
    let next = script.next().await;
    let names: Vec<_> = next
        .request()
        .messages
        .iter()
        .filter_map(|message| match message {
            madang::model::PromptMessage::ToolCall { name, .. } => Some(name.to_string()),
            madang::model::PromptMessage::User { .. }
            | madang::model::PromptMessage::Model { .. } => None,
        })
        .collect();
    assert_eq!(names, ["slow_read", "search", "note"]);
    next.say("done");
    turn.ended().await.unwrap();
    test.shutdown().await;
}

#[tokio::test]
async fn a_session_is_found_again_with_its_chat_after_the_runtime_was_shut_down() {
    let test = TestRuntime::new(ScriptedModel::new([ScriptedCompletion::text("Hello Kim.")])).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    session.send("hello").await.unwrap().ended().await.unwrap();
    let before = session.state().await.unwrap().messages;
    let store = test.store.clone();
    test.shutdown().await;

    let runtime = madang::Runtime::builder()
        .model(ScriptedModel::new([]))
        .store(store)
        .start()
        .await
        .unwrap();
    let lee = runtime.user("lee").unwrap();
    // The owner is read from the store first. Once the session is open, it is known in memory.
    assert!(matches!(lee.session("s").await, Err(madang::Error::Foreign(_))));
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    assert_eq!(session.state().await.unwrap().messages, before);
    assert!(matches!(lee.session("s").await, Err(madang::Error::Foreign(_))));
    runtime.shutdown().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_is_found_by_its_user_alone_and_looking_makes_none() {
    let test = TestRuntime::without_model().await;
    let id = SessionId::new("s").unwrap();
    let kim = kim();
    let lee = UserId::new("lee").unwrap();
    for _ in 0..2 {
        assert!(test.runtime.user_with_id(&kim).find_session(&id).await.unwrap().is_none());
    }
    test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let found =
        test.runtime.user_with_id(&kim).find_session(&id).await.unwrap().expect("it was opened");
    assert_eq!((found.user(), found.id()), (&kim, &id));
    drop(found);
    assert!(test.runtime.user_with_id(&lee).find_session(&id).await.unwrap().is_none());
    test.runtime.shutdown().await.unwrap();
    let closed = test.runtime.user_with_id(&kim).find_session(&id).await.unwrap_err();
    assert!(matches!(closed, Error::Closed));
}

#[tokio::test]
async fn a_decision_by_another_user_or_a_second_one_does_not_count() {
    let test = TestRuntime::new(call_then_say("save", &json!({ "name": "a" }), "Saved.")).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("save a").await.unwrap();
    let request = probe.approval_request().await;
    let lee = madang::UserId::new("lee").unwrap();
    let yes = Decision::Approve;
    let foreign = test.runtime.user_with_id(&lee).decide(request.call, request.digest, yes).await;
    assert_eq!(foreign, Err(madang::error::DecisionError::NotYours));
    let answers = tokio::join!(
        session.decide(&request, Decision::Approve),
        session.decide(&request, Decision::Approve)
    );
    assert_eq!([answers.0.is_ok(), answers.1.is_ok()].iter().filter(|ok| **ok).count(), 1);
    turn.ended().await.unwrap();
    assert_eq!(test.rows().len(), 1);
    let unattended = test.call("save", &json!({ "name": "b" }), Approver::None).await;
    assert_eq!(crate::support::kind(&unattended), "unreachable");
    test.shutdown().await;
}

fn call_to(name: &str, arguments: &serde_json::Value) -> madang::tool::WantedCall {
    crate::support::wanted(name, arguments)
}

fn completion_of(call: madang::tool::WantedCall) -> madang::model::Completion {
    madang::model::Completion { tool_calls: vec![call], ..madang::model::Completion::default() }
}

fn last_envelope(request: &madang::model::CompletionRequest) -> String {
    match request.messages.last() {
        Some(madang::model::PromptMessage::ToolCall { envelope, .. }) => envelope.to_string(),
        other => panic!("the model is told the result of its call, not {other:?}"),
    }
}
