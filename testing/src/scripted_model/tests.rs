//! Tests what a scripted model says.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use super::*;
use expect_test::{Expect, expect};
use madang_actors::protocol::{CompletionId, LanguageTag, UserId};
use serde_json::json;
use uuid::Uuid;

fn request(session: &str) -> CompletionRequest {
    CompletionRequest {
        id: CompletionId::new(Uuid::nil()),
        session: SessionId::new(session).unwrap(),
        user: UserId::new("me").unwrap(),
        system: None,
        instructions: None,
        messages: Default::default(),
        tools: Arc::new([]),
        language: LanguageTag::EN,
        max_tokens: 16,
    }
}

/// Renders the stream and the end as one line.
async fn said(model: &ScriptedModel, session: &str) -> String {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let pieces = heard.clone();
    let deltas = Deltas::new(move |delta| pieces.lock().unwrap().push(format!("{delta:?}")));
    let end = match model.complete(request(session), deltas, CancellationToken::new()).await {
        Ok(Completion { text, tool_calls, finish, .. }) => {
            let calls: Vec<_> = tool_calls
                .iter()
                .map(|call| format!("{}({})", call.name, call.arguments))
                .collect();
            format!("{finish:?} {text:?} {}", calls.join(" "))
        }
        Err(error) => error.to_string(),
    };
    let heard = heard.lock().unwrap().join(" ");
    format!("{heard} -> {end}")
}

async fn check(script: &str, expected: Expect) {
    let rendered = match script.parse::<ScriptedModel>() {
        Ok(model) => {
            let mut lines = Vec::new();
            while !lines
                .last()
                .is_some_and(|line: &String| line.ends_with(ModelError::SCRIPT_EXHAUSTED))
            {
                lines.push(said(&model, "one").await);
            }
            lines.join("\n")
        }
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&rendered);
}

#[tokio::test(start_paused = true)]
async fn a_script_is_said_in_order_and_then_runs_out() {
    check(
        r#"
{"text":"안녕하세요"}
{"text":"a","tool_calls":[{"name":"look","arguments":{"b":1,"a":2}},{"name":"list"}]}

{"tool_calls":[{"name":"look","arguments":"{not json"},{"name":"look","arguments":[1]}],"delay_ms":5}
{"error":"EngineDied"}
{"text":"half","error":"Timeout"}
{"text":""}
"#,
        expect![[r#"
            Text("안녕") Text("하세") Text("요") -> Stop "안녕하세요" 
            Text("a") -> ToolCalls "a" look({"b":1,"a":2}) list({})
             -> ToolCalls "" look({not json) look([1])
             -> the model failed: EngineDied
            Text("h") Text("a") Text("l") Text("f") -> the model failed: Timeout
             -> Stop "" 
             -> the model failed: ScriptExhausted"#]],
    )
    .await;
}

#[tokio::test]
async fn a_completion_may_think_first_and_names_its_cost() {
    let script = r#"{"thinking":"hm","text":"a","usage":{"prompt_tokens":5,"cached_tokens":3,"completion_tokens":2}}"#;
    check(
        script,
        expect![[r#"
            Thinking("h") Thinking("m") Text("a") -> Stop "a" 
             -> the model failed: ScriptExhausted"#]],
    )
    .await;
    let model: ScriptedModel = script.parse().unwrap();
    let end = model.complete(request("one"), Deltas::ignored(), CancellationToken::new()).await;
    let usage = Usage { prompt_tokens: 5, cached_tokens: 3, completion_tokens: 2 };
    assert_eq!(end.unwrap().usage, usage);
}

#[tokio::test]
async fn a_script_that_cannot_be_read_names_the_line() {
    check(
        "{\"text\":\"a\"}\nnonsense",
        expect!["line 2 of the script is not a completion: expected ident (column 2)"],
    )
    .await;
    check("{}", expect!["line 1 of the script needs a `text`, `tool_calls` or an `error`"]).await;
    check(
        r#"{"texts":"a"}"#,
        expect![
            "line 1 of the script is not a completion: unknown field `texts`, expected one of `thinking`, `text`, `tool_calls`, `error`, `usage`, `delay_ms` (column 8)"
        ],
    )
    .await;
    let deep = format!(
        r#"{{"tool_calls":[{{"name":"a","arguments":{}1{}}}]}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    check(
        &deep,
        expect!["line 1 of the script is nested too deep: write such arguments as a string"],
    )
    .await;
}

#[tokio::test]
async fn a_session_may_hear_a_script_of_its_own() {
    let mine = SessionId::new("mine").unwrap();
    let model = ScriptedModel::new([ScriptedCompletion::text("all")])
        .for_session(mine, [ScriptedCompletion::text("mine")]);
    assert_eq!(
        said(&model, "mine").await,
        r#"Text("m") Text("i") Text("n") Text("e") -> Stop "mine" "#
    );
    assert_eq!(said(&model, "other").await, r#"Text("a") Text("l") Text("l") -> Stop "all" "#);
    assert_eq!(said(&model, "mine").await, " -> the model failed: ScriptExhausted");
}

#[tokio::test]
async fn a_repeating_script_begins_anew_for_each_session() {
    let script = [ScriptedCompletion::call("look", &json!({})), ScriptedCompletion::text("a")];
    let model = ScriptedModel::repeating(script);
    let mut heard = Vec::new();
    for session in ["one", "two", "one", "one", "two"] {
        heard.push(said(&model, session).await);
    }
    let call = r#" -> ToolCalls "" look({})"#;
    let text = r#"Text("a") -> Stop "a" "#;
    assert_eq!(heard, [call, call, text, call, text]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_completion_ends_at_once_and_keeps_what_was_streamed() {
    let model =
        ScriptedModel::new([ScriptedCompletion::text("abcd").after(Duration::from_secs(4))]);
    let heard = Arc::new(Mutex::new(String::new()));
    let cancel = CancellationToken::new();
    let pieces = heard.clone();
    let stop = cancel.clone();
    let deltas = Deltas::new(move |delta| {
        let mut heard = pieces.lock().unwrap();
        heard.push_str(&format!("{delta:?}"));
        if heard.contains('b') {
            stop.cancel();
        }
    });
    let began = tokio::time::Instant::now();
    let end = model.complete(request("one"), deltas, cancel).await;
    assert!(matches!(end, Err(ModelError::Cancelled { .. })));
    assert_eq!(*heard.lock().unwrap(), r#"Text("a")Text("b")"#);
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}
