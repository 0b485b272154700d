//! A question: a person on another device decides, and a client that has none is told so.

use std::time::Duration;

use madang_testing::{FakeTool, ScriptedCompletion, ScriptedModel};
use serde_json::json;

use super::{ask, decide, deleting, open, said, stream, streamed, user};
use crate::{
    http::{Request, StreamEnd},
    support::{Setup, until},
};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_person_a_destructive_call_does_not_run_and_the_model_says_so() {
    let (test, runs) = deleting().await;
    let answer = test.send(ask(&[user("delete 7")])).await;
    assert_eq!(said(&answer), "done");
    let row = &test.get("/v1/ledger").await.ok(200)["calls"][0];
    assert_eq!(row["outcome"]["reason"], "unreachable");
    assert_eq!(runs.count(), 0);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_on_another_device_decides_while_the_stream_waits() {
    let (test, runs) = deleting().await;
    let mut events =
        open(&test, stream(&[user("delete 7")]).header("madang-ask", "elsewhere")).await;
    events.until_comment("waiting for a person").await;
    decide(&test, "approve").await;
    let (told, end) = events.end().await;
    assert_eq!((streamed(&told), end), ("done".to_owned(), StreamEnd::Whole));
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_answer_that_waits_too_long_names_its_turn_and_the_retry_joins_it() {
    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let script = [ScriptedCompletion::call("delete", &json!({})), ScriptedCompletion::text("done")];
    let test = Setup::new(ScriptedModel::repeating(script))
        .tool(tool)
        .limits(|limits| limits.completion_wait = Duration::from_millis(100))
        .start()
        .await;
    let tried = |count: &str| {
        let request = ask(&[user("delete 7")]).header("madang-ask", "elsewhere");
        request.header("x-stainless-retry-count", count)
    };
    let late = test.send(tried("0")).await;
    assert_eq!((late.status, &*late.problem()), (504, "still-waiting"));
    let turn = late.header("madang-turn").unwrap().to_owned();
    assert_eq!(late.header("x-should-retry"), None);
    decide(&test, "approve").await;
    until(async || test.send(tried("1")).await.status == 200).await;
    let joined = test.send(tried("2")).await;
    assert_eq!((said(&joined), joined.header("madang-turn")), ("done".to_owned(), Some(&*turn)));
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_text_in_a_named_chat_takes_the_place_of_a_question_and_is_no_yes() {
    let (test, runs) = deleting().await;
    let in_chat =
        |request: Request| request.header("madang-session", "s").header("madang-ask", "elsewhere");
    let mut events = open(&test, in_chat(stream(&[user("delete 7")]))).await;
    events.until_comment("waiting for a person").await;
    let instead = [user("delete 7"), user("keep it")];
    let tried = |count: &str| in_chat(stream(&instead)).header("x-stainless-retry-count", count);
    let mut next = open(&test, tried("0")).await;
    let (told, end) = events.end().await;
    assert_eq!(told.last().unwrap().data["error"]["code"], "dismissed");
    assert_eq!(end, StreamEnd::BrokenOff);
    assert_eq!(streamed(&next.end().await.0), "done");
    let state = test.get("/v1/sessions/s").await.ok(200);
    let texts: Vec<_> = state["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["text"].as_str())
        .collect();
    assert_eq!(texts, ["delete 7", "keep it", "done"], "what is known is not said again");
    // Sent again, it finds its turn, though the chat has the text by now.
    let again = open(&test, tried("1")).await;
    assert_eq!(again.header("madang-turn"), next.header("madang-turn"));
    assert_eq!(runs.count(), 0);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_first_text_leaves_the_question_of_its_chat_open() {
    let (test, runs) = deleting().await;
    let in_chat = |text: &str| stream(&[user(text)]).header("x-openwebui-chat-id", "s");
    let asking = in_chat("delete 7").header("madang-ask", "elsewhere");
    let mut events = open(&test, asking).await;
    events.until_comment("waiting for a person").await;
    let mut edited = open(&test, in_chat("keep 7")).await;
    assert_ne!(edited.header("madang-session"), Some("s"));
    edited.end().await;
    decide(&test, "approve").await;
    assert_eq!(streamed(&events.end().await.0), "done");
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_answer_that_was_dismissed_or_failed_says_so_and_is_not_asked_for_again() {
    let (test, runs) = deleting().await;
    let request = ask(&[user("delete 7")]).header("madang-ask", "elsewhere");
    let asks = test.send(request.header("madang-session", "s"));
    let dismisses = async {
        let chat = async || test.get("/v1/sessions").await.ok(200)["sessions"][0].clone();
        until(async || chat().await["waits"] == true).await;
        let turn = chat().await["open_turn"].as_str().unwrap().to_owned();
        let path = format!("/v1/sessions/s/turns/{turn}/dismiss");
        test.post(&path, json!({})).await.ok(200);
    };
    let (answer, ()) = tokio::join!(asks, dismisses);
    assert_eq!((answer.status, answer.header("x-should-retry")), (502, Some("false")));
    assert_eq!(answer.json()["error"]["code"], "dismissed");
    assert_eq!(runs.count(), 0);
    test.shutdown().await;

    let fails = ScriptedCompletion::error("BadOutput");
    let test = Setup::new(ScriptedModel::new([fails])).start().await;
    let answer = test.send(ask(&[user("hi")])).await;
    assert_eq!((answer.status, answer.header("x-should-retry")), (502, Some("false")));
    assert_eq!(answer.json()["error"]["code"], "BadOutput");
    test.shutdown().await;
}
