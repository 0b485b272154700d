//! A stream: one message a turn, told again from its beginning, said again or stopped.

use madang::model::Completion;
use madang_testing::{FakeTool, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Value, json};

use super::{Client, finish, shown};
use crate::{
    http::Request,
    support::{Setup, says},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_answered_as_one_message_whose_id_is_the_turns() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "c");
    let events = client.says("m1", "안녕").open().await;
    let turn = events.header("madang-turn").unwrap().to_owned();
    let completion = script.next().await;
    completion.think("음");
    completion.delta("반가");
    completion.say("반가워요");
    let parts = client.end(events).await;
    assert_eq!(parts[0], json!({ "type": "start", "messageId": turn }));
    assert_eq!(finish(&parts), "stop");
    assert_eq!(client.shows(), ["u: 안녕", "a: 반가워요"]);
    // The last message alone is enough.
    let message =
        json!({ "id": "m2", "role": "user", "parts": [{ "type": "text", "text": "또" }] });
    let request = Request::post("/api/chat", &json!({ "id": "c", "message": message }));
    let events = request.bearer(&client.token).stream(test.address).await;
    client.messages.push(message);
    script.next().await.say("네");
    client.end(events).await;
    assert_eq!(client.shows(), ["u: 안녕", "a: 반가워요", "u: 또", "a: 네"]);
    let stored = test.get("/api/chat/c/messages").await.ok(200);
    assert_eq!(shown(stored.as_array().unwrap()), client.shows());
    assert_eq!(stored[1]["id"], turn);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_comes_back_is_told_the_turn_from_its_beginning() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).tool(FakeTool::read("look")).start().await;
    let mut client = Client::new(&test, "c");
    client.comes_back_for_nothing().await; // before its first message
    let events = client.says("m1", "hi").open().await;
    let wanted = madang::tool::WantedCall::new("look", "{}");
    let look =
        Completion { text: "I look.".into(), tool_calls: vec![wanted], ..Completion::default() };
    script.next().await.finish(look);
    let completion = script.next().await;
    completion.delta("half an ");
    drop(events);
    let back = client.come_back().await;
    // The same message sent again joins as well.
    let again = client.open().await;
    completion.delta("answer");
    completion.say("half an answer");
    let shown = ["u: hi", "a: I look. (output-available) half an answer"];
    assert_eq!(finish(&client.end(back).await), "stop");
    assert_eq!(client.shows(), shown);
    client.messages.pop();
    client.end(again).await;
    assert_eq!(client.shows(), shown);
    client.comes_back_for_nothing().await; // it is over
    client.messages.pop();
    client.send().await;
    assert_eq!(client.shows(), shown, "also now");
    assert!(script.try_next().is_none(), "the model was asked once");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_while_a_turn_runs_is_busy_and_a_stop_dismisses_that_turn_only() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "c");
    let events = client.says("m1", "hi").open().await;
    let turn = events.header("madang-turn").unwrap().to_owned();
    let completion = script.next().await;
    completion.delta("half");
    let busy = client.says("m2", "more").refused().await;
    assert_eq!((busy.status, &*busy.problem()), (409, "busy"));
    assert_eq!(busy.header("retry-after"), Some("1"));
    client.messages.pop();
    let stop =
        async |body: Value| test.post("/api/chat/c/stop", body).await.ok(200)["dismissed"].clone();
    for other in ["00000000-0000-0000-0000-000000000000", "no turn"] {
        assert_eq!(stop(json!({ "activeStreamId": other })).await, false);
    }
    assert_eq!(stop(json!({ "activeStreamId": turn })).await, true);
    completion.cancelled().await;
    let parts = client.end(events).await;
    assert_eq!(finish(&parts), "abort");
    assert_eq!(stop(json!({ "activeStreamId": turn })).await, false, "it is over");
    assert_eq!(stop(json!({})).await, false);
    let events = client.says("m3", "again").open().await;
    let completion = script.next().await;
    assert_eq!(stop(json!({})).await, true, "whichever runs");
    completion.cancelled().await;
    client.end(events).await;
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_said_again_begins_a_turn_and_twice_at_once_only_one() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "c");
    let events = client.says("m1", "hi").open().await;
    script.next().await.say("one");
    client.end(events).await;
    client.messages.pop();
    let again = |client: &mut Client<'_>| {
        client.with("trigger", json!("regenerate-message"));
    };
    again(&mut client);
    let first = client.open().await;
    let completion = script.next().await;
    again(&mut client);
    let second = client.open().await;
    assert_eq!(first.header("madang-turn"), second.header("madang-turn"));
    completion.say("two");
    client.end(first).await;
    assert_eq!(client.shows(), ["u: hi", "a: two"]);
    client.messages.pop();
    again(&mut client);
    let third = client.open().await;
    script.next().await.say("three");
    client.end(third).await;
    assert_eq!(client.shows(), ["u: hi", "a: three"]);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_told_and_the_stream_is_whole() {
    let failing = ScriptedCompletion::error("ConnectionLost").saying("half");
    let test = Setup::new(ScriptedModel::repeating([failing])).start().await;
    let mut client = Client::new(&test, "c");
    let parts = client.says("m1", "hi").send().await;
    assert_eq!(finish(&parts), "error");
    let error = parts.iter().find(|part| part["type"] == "error").unwrap();
    assert!(error["errorText"].as_str().is_some_and(|text| !text.is_empty()));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_cannot_be_taken_is_refused() {
    let test = Setup::new(says("a"))
        .limits(|limits| limits.max_history_body_bytes = 300_000)
        .start()
        .await;
    let mut client = Client::new(&test, "c");
    let wrong = client.refused().await;
    assert_eq!((wrong.status, &*wrong.problem()), (400, "malformed"));
    assert_eq!(wrong.json()["problems"][0]["pointer"], "/messages");
    let long = "x".repeat(270_000);
    client.messages = vec![
        json!({ "id": "a", "role": "assistant", "parts": [{ "type": "text", "text": long }] }),
    ];
    client.says("m1", "hi").send().await;
    client.says("m2", &"x".repeat(40_000));
    let long = client.refused().await;
    assert_eq!((long.status, &*long.problem()), (413, "too-long"));
    client.messages = vec![];
    let empty = client.says("m3", " ").refused().await;
    assert_eq!((empty.status, &*empty.problem()), (422, "empty"));
    let unknown = test.get("/api/chat/nowhere/messages").await;
    assert_eq!((unknown.status, &*unknown.problem()), (404, "not-found"));
    test.shutdown().await;
}
