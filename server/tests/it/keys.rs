//! A request that comes twice under one key does its work once.

use madang_testing::{FakeTool, ScriptedModel, model_pair};
use serde_json::json;

use crate::{
    http::Request,
    support::{Setup, says},
};

fn keyed(path: &str, key: &str, body: &serde_json::Value) -> Request {
    Request::post(path, body).header("idempotency-key", key)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_text_under_a_key_is_one_turn_whether_it_runs_or_has_ended() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    test.open("s").await;
    let path = "/v1/sessions/s/turns";
    let body = json!({ "text": "once" });
    let first = test.send(keyed(path, "\"k\"", &body)).await;
    assert_eq!(first.ok(202)["key"], "k");
    let turn = first.json()["turn"].clone();
    assert_eq!(first.header("madang-turn"), turn.as_str());
    let location = first.header("location").unwrap().to_owned();
    assert_eq!(test.get(&location).await.ok(200)["status"], "running");
    assert_eq!(test.send(keyed(path, "k", &body)).await.ok(202)["turn"], turn, "it runs");
    script.next().await.say("done");
    let again = keyed(path, "k", &body).header("prefer", "wait=30");
    let ended = test.send(again).await;
    assert_eq!(ended.header("preference-applied"), Some("wait=30"));
    assert_eq!(ended.ok(200)["turn"], turn, "it has ended");
    assert_eq!(ended.json()["text"], "done");
    assert!(script.try_next().is_none(), "the model was asked once");
    let other = test.send(keyed(path, "k", &json!({ "text": "other" }))).await;
    assert_eq!((other.status, &*other.problem()), (422, "key-reused"));
    assert_eq!(other.header("x-should-retry"), Some("false"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_two_sessions_are_two_keys_and_a_text_without_one_is_new() {
    let test = Setup::new(says("a")).start().await;
    test.open("s").await;
    test.open("t").await;
    let body = json!({ "text": "hi" });
    let wait = |request: Request| request.header("prefer", "wait=30");
    let one = test.send(wait(keyed("/v1/sessions/s/turns", "k", &body))).await.ok(200);
    let two = test.send(wait(keyed("/v1/sessions/t/turns", "k", &body))).await.ok(200);
    assert_ne!(one["turn"], two["turn"]);
    assert_ne!(test.say("s", "hi").await["turn"], test.say("s", "hi").await["turn"]);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_under_a_key_runs_once_and_gives_its_end_again() {
    let tool = FakeTool::write("send");
    let runs = tool.runs();
    let test = Setup::new(ScriptedModel::new([])).tool(tool).start().await;
    let path = "/v1/tools/send/calls";
    let body = json!({ "arguments": { "to": "lee" } });
    let first = test.send(keyed(path, "k", &body)).await.ok(200);
    assert_eq!(first["record"]["outcome"]["data"]["to"], "lee");
    assert_eq!(first["is_recorded"], true);
    let second = test.send(keyed(path, "k", &body)).await.ok(200);
    assert_eq!(first, second);
    assert_eq!(runs.count(), 1);
    let other = json!({ "arguments": { "to": "kim" } });
    let other = test.send(keyed(path, "k", &other)).await;
    assert_eq!((other.status, &*other.problem()), (422, "key-reused"));
    // Another user's key is another key.
    let lees = keyed(path, "k", &body).bearer(test.lee.reveal()).send(test.address).await;
    assert_ne!(lees.ok(200)["call"], first["call"]);
    assert_eq!(runs.count(), 2);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_goes_on_where_its_client_leaves_before_the_answer() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    test.open("s").await;
    let mut connection = crate::http::Connection::open(test.address).await;
    let body = json!({ "text": "hi" }).to_string();
    let head = format!(
        "POST /v1/sessions/s/turns HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nprefer: wait=60\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        test.address,
        test.kim.reveal(),
        body.len()
    );
    connection.write(head.as_bytes()).await;
    let completion = script.next().await;
    drop(connection);
    completion.say("said to no one");
    let mut events = test.stream("/v1/sessions/s/events").await;
    let told = events.until("turn_ended").await;
    assert_eq!(told.last().unwrap().data["ending"], "answered");
    test.shutdown().await;
}
