//! A run: what a client hears in which order, how a run that was cut is joined, and how it ends.

use madang_server::OnDisconnect;
use madang_testing::{ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Value, json};

use super::{Client, PATH, ReadRun, ended};
use crate::{
    http::{Request, StreamEnd},
    support::{Setup, says},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_what_it_may_expect() {
    let test = Setup::new(says("a")).start().await;
    let can = test.get(PATH).await.ok(200);
    assert_eq!(can["tools"]["clientProvided"], false);
    assert_eq!(can["humanInTheLoop"]["approveWithEdits"], true);
    assert_eq!(can["transport"], json!({ "streaming": true, "resumable": false }));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_message_begins_a_turn_that_is_told_as_a_run() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "t");
    client.state = json!({ "theme": "dark" });
    let context = json!([{ "description": "page", "value": "habits" }]);
    let mut events = client.says("m1", "안녕").with("context", context).open().await;
    assert!(events.header("madang-turn").is_some());
    let completion = script.next().await;
    let seen = format!("{:?}", completion.request());
    assert!(seen.contains("page: habits"), "{seen}");
    completion.think("음");
    completion.delta("반가");
    let before = events.until_data(|event| event["type"] == "TEXT_MESSAGE_CONTENT").await;
    assert!(before.iter().any(|frame| frame.data["type"] == "REASONING_MESSAGE_CONTENT"));
    completion.say("반가워요");
    let (rest, end) = events.end().await;
    assert_eq!(end, StreamEnd::Whole);
    let told = ReadRun { events: before.into_iter().chain(rest).map(|frame| frame.data).collect() };
    client.verify(&told);
    told.events.iter().for_each(|event| client.apply(event));
    assert_eq!(told.end(), "success");
    assert!(told.last()["usage"][0]["totalTokens"].is_u64());
    assert_eq!(client.shows(), ["u: 안녕", "a: 반가워요"]);
    assert_eq!(client.state["theme"], "dark", "the client's own state comes back");
    assert_eq!(client.state["madang"]["session"], "t");
    let next = client.says("m2", "또").open();
    let (next, ()) = tokio::join!(next, async { script.next().await.say("네") });
    client.end(next).await;
    assert_eq!(client.shows(), ["u: 안녕", "a: 반가워요", "u: 또", "a: 네"]);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_cut_is_joined_without_a_doubled_word() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "t");
    let mut events = client.says("m1", "hi").open().await;
    let completion = script.next().await;
    completion.delta("half an ");
    for frame in events.until_data(|event| event["type"] == "TEXT_MESSAGE_CONTENT").await {
        client.apply(&frame.data);
    }
    drop(events);
    assert_eq!(client.shows(), ["u: hi", "a: half an "]);
    // The client sends the same message again.
    let joined = client.open().await;
    completion.delta("answer");
    completion.say("half an answer");
    assert_eq!(client.end(joined).await.end(), "success");
    assert_eq!(client.shows(), ["u: hi", "a: half an answer"]);
    // And again, once it is over: nothing begins.
    assert_eq!(client.run().await.end(), "success");
    assert_eq!(client.shows(), ["u: hi", "a: half an answer"]);
    assert!(script.try_next().is_none());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_message_attaches_to_what_runs_and_else_hears_what_is_stored() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let unknown = Client::new(&test, "t").refused().await;
    assert_eq!((unknown.status, &*unknown.problem()), (404, "not-found"));
    let mut laptop = Client::new(&test, "t");
    let on_laptop = laptop.says("m1", "hi").open().await;
    let completion = script.next().await;
    completion.delta("a");
    let mut phone = Client::new(&test, "t");
    let on_phone = phone.open().await;
    completion.say("answer");
    for (client, events) in [(&mut laptop, on_laptop), (&mut phone, on_phone)] {
        assert_eq!(client.end(events).await.end(), "success");
        assert_eq!(client.shows(), ["u: hi", "a: answer"]);
    }
    let mut late = Client::new(&test, "t");
    assert_eq!(late.run().await.end(), "success");
    assert_eq!(late.messages, phone.messages);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_text_while_a_turn_runs_is_told_that_the_thread_is_busy() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "t");
    let events = client.says("m1", "hi").open().await;
    let completion = script.next().await;
    let mut phone = Client::new(&test, "t");
    let told = phone.says("m2", "else").run().await;
    assert_eq!((told.kinds(), told.end()), (vec!["RUN_ERROR"], "busy"));
    completion.say("done");
    client.end(events).await;
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_ends_the_run_with_its_code_live_and_told_again() {
    let failing = ScriptedCompletion::error("ConnectionLost").saying("half");
    let test = Setup::new(ScriptedModel::repeating([failing])).start().await;
    let mut client = Client::new(&test, "t");
    for _ in 0..2 {
        let told = client.says("m1", "hi").run().await;
        assert_eq!(told.end(), "model/ConnectionLost");
        assert!(told.last()["message"].as_str().is_some_and(|text| !text.is_empty()));
        client.messages.retain(|message| message["id"] != "m1");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_cannot_be_taken_is_refused_as_json() {
    let test = Setup::new(says("a"))
        .limits(|limits| limits.max_history_body_bytes = 300_000)
        .start()
        .await;
    let mut client = Client::new(&test, "t");
    let wrong = client.with("runId", json!(7)).refused().await;
    assert_eq!((wrong.status, &*wrong.problem()), (400, "malformed"));
    assert_eq!(wrong.json()["problems"][0]["pointer"], "/runId");
    let history = json!({ "id": "a", "role": "assistant", "content": "x".repeat(270_000) });
    client.messages = vec![history.clone()];
    assert_eq!(client.says("m1", "hi").run().await.end(), "success", "longer than other bodies");
    client.messages = vec![history.clone(), history];
    let long = client.says("m2", "hi").refused().await;
    assert_eq!((long.status, &*long.problem()), (413, "too-long"));
    let unauthorized = Request::post(PATH, &json!({})).send(test.address).await;
    assert_eq!(unauthorized.status, 401);
    assert_eq!(unauthorized.header("content-type"), Some("application/json"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_dismisses_its_turn_only_where_the_server_is_told_so() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model)
        .options(|options| options.on_disconnect(OnDisconnect::Dismiss))
        .start()
        .await;
    let mut client = Client::new(&test, "t");
    let mut events = client.says("m1", "hi").open().await;
    let completion = script.next().await;
    completion.delta("half");
    // A device that only looks may leave.
    let mut phone = Client::new(&test, "t").open().await;
    phone.until_data(|event| event["type"] == "TEXT_MESSAGE_CONTENT").await;
    drop(phone);
    completion.delta(" an answer");
    let is_rest =
        |event: &Value| event["delta"].as_str().is_some_and(|text| text.contains("answer"));
    events.until_data(is_rest).await;
    assert!(!completion.is_cancelled());
    drop(events);
    completion.cancelled().await;
    ended(&test, "t", 1).await;
    assert_eq!(client.run().await.end(), "cancelled");
    test.shutdown().await;
}
