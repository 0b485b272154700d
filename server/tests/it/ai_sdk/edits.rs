//! A message that is edited or answered once more begins a fork: the texts before it are taken
//! along, and nothing else.

use std::collections::BTreeSet;

use madang::{
    Limits,
    model::{ModelError, PromptMessage},
    store::SqliteStore,
};
use madang_server::MIGRATIONS;
use madang_testing::{FakeTool, HandScript, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Value, json};

use super::{Client, asks, finish, shown};
use crate::{
    http::Request,
    support::{Setup, TestServer, says},
};

/// Sends the messages, answers with this text, and gives what the model was told.
async fn answered(client: &mut Client<'_>, script: &mut HandScript, text: &str) -> Vec<String> {
    let events = client.open().await;
    let completion = script.next().await;
    let told = texts(&completion.request().messages);
    completion.say(text);
    client.end(events).await;
    told
}

fn texts(messages: &[PromptMessage]) -> Vec<String> {
    let text = |message: &PromptMessage| match message {
        PromptMessage::User { text } | PromptMessage::Model { text } => text.to_string(),
        PromptMessage::ToolCall { name, .. } => format!("{name}()"),
    };
    messages.iter().map(text).collect()
}

/// Edits the message at this position, as `sendMessage` with a `messageId` does.
fn edits<'a, 'b>(client: &'b mut Client<'a>, at: usize, text: &str) -> &'b mut Client<'a> {
    client.messages.truncate(at + 1);
    client.messages[at]["parts"] = json!([{ "type": "text", "text": text }]);
    let id = client.messages[at]["id"].clone();
    client.with("messageId", id)
}

/// Asks for another answer to the message at this position.
fn again<'a, 'b>(client: &'b mut Client<'a>, at: usize) -> &'b mut Client<'a> {
    let answer = client.messages[at + 1]["id"].clone();
    client.messages.truncate(at + 1);
    client.with("trigger", json!("regenerate-message")).with("messageId", answer)
}

/// The chat as a client that is loaded anew gets it.
async fn stored(test: &TestServer) -> Vec<Value> {
    test.get("/api/chat/c/messages").await.ok(200).as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_message_is_answered_behind_the_texts_before_it_alone() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "c");
    answered(client.says("m1", "one"), &mut script, "1").await;
    answered(client.says("m2", "two"), &mut script, "2").await;
    answered(client.says("m3", "three"), &mut script, "3").await;

    let told = answered(edits(&mut client, 4, "drei"), &mut script, "III").await;
    assert_eq!(told, ["one", "1", "two", "2", "drei"]);
    let all = ["u: one", "a: 1", "u: two", "a: 2", "u: drei", "a: III"];
    assert_eq!(
        (client.shows(), shown(&stored(&test).await)),
        (all.map(str::to_owned).to_vec(), client.shows())
    );
    // The chat goes on in its fork, and a screen that is loaded anew edits what the fork has taken
    // along.
    let told = answered(client.says("m4", "four"), &mut script, "4").await;
    assert_eq!(told, ["one", "1", "two", "2", "drei", "III", "four"]);
    client.messages = stored(&test).await;
    let ids: BTreeSet<_> =
        client.messages.iter().map(|message| message["id"].to_string()).collect();
    assert_eq!(ids.len(), 8, "each message has an id of its own");
    let told = answered(edits(&mut client, 0, "uno"), &mut script, "I").await;
    assert_eq!((told, shown(&stored(&test).await)), (vec!["uno".to_owned()], client.shows()));
    let first = test.get("/v1/sessions/c").await.ok(200);
    let users = first["messages"].as_array().unwrap().iter().step_by(2);
    let users: Vec<_> = users.map(|message| &message["text"]).collect();
    assert_eq!(users, ["one", "two", "three"], "the first chat is left as it is");
    test.shutdown().await;
}

/// A chat is never copied as a whole: its pages are read from the end, and no further than an edit
/// needs.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_found_on_an_earlier_page_and_takes_the_texts_before_it_along() {
    const PAGE: usize = 1_500;
    let (model, mut script) = model_pair();
    let test = Setup::new(model)
        .build(|builder| builder.limits(Limits { max_imported_messages: 5, ..Limits::default() }))
        .limits(|limits| {
            limits.max_page_bytes = PAGE;
            limits.max_history_body_bytes = 4 * PAGE;
        })
        .start()
        .await;
    let mut client = Client::new(&test, "c");
    let last = |id: &str, text: &str| json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] });
    let long = |number: usize| format!("{number} {}", "x".repeat(900));
    for number in 1..=7 {
        client.messages = vec![last(&format!("m{number}"), &long(number))];
        answered(&mut client, &mut script, "yes").await;
    }
    client.messages = vec![last("m5", "edited")];
    let told = answered(client.with("messageId", json!("m5")), &mut script, "III").await;
    assert_eq!(told, [&*long(3), "yes", &long(4), "yes", "edited"], "from a text of the user on");
    // Further back than a client can send.
    client.messages = vec![last("m1", "edited")];
    let refused = client.with("messageId", json!("m1")).refused().await;
    assert_eq!((refused.status, &*refused.problem()), (400, "malformed"));
    assert!(script.try_next().is_none());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_asked_for_again_takes_the_place_of_the_last_one() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "c");
    answered(client.says("m1", "one"), &mut script, "1").await;
    answered(client.says("m2", "two"), &mut script, "2").await;
    assert_eq!(answered(again(&mut client, 2), &mut script, "B").await, ["one", "1", "two"]);
    assert_eq!(answered(again(&mut client, 2), &mut script, "C").await, ["one", "1", "two"]);
    assert_eq!(shown(&stored(&test).await), ["u: one", "a: 1", "u: two", "a: C"]);
    assert_eq!(answered(again(&mut client, 0), &mut script, "A").await, ["one"]);
    assert_eq!(shown(&stored(&test).await), ["u: one", "a: A"]);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_an_earlier_fork_was_told_is_found_without_the_clients_history() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "c");
    answered(client.says("m1", "one"), &mut script, "1").await;
    answered(client.says("m2", "two"), &mut script, "2").await;
    answered(edits(&mut client, 2, "zwei"), &mut script, "II").await;
    let last = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "uno" }] });
    client.messages = vec![last.clone()];
    client.with("message", last).with("messageId", json!("m1"));
    assert_eq!(answered(&mut client, &mut script, "I").await, ["uno"]);
    assert_eq!(shown(&stored(&test).await), ["u: uno", "a: I"]);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_is_sent_twice_begins_one_fork() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "c");
    answered(client.says("m1", "one"), &mut script, "1").await;
    answered(client.says("m2", "two"), &mut script, "2").await;
    let mut twin = Client::new(&test, "c");
    let mut late = Client::new(&test, "c");
    (twin.messages, late.messages) = (client.messages.clone(), client.messages.clone());
    let (first, second) =
        tokio::join!(edits(&mut client, 2, "zwei").open(), edits(&mut twin, 2, "zwei").open());
    assert_eq!(first.header("madang-turn"), second.header("madang-turn"));
    script.next().await.say("II");
    client.end(first).await;
    twin.end(second).await;
    edits(&mut late, 2, "zwei").send().await;
    let all = ["u: one", "a: 1", "u: zwei", "a: II"];
    assert_eq!(
        [&client, &twin, &late].map(Client::shows),
        [(); 3].map(|()| all.map(str::to_owned).to_vec())
    );
    assert!(script.try_next().is_none());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_message_that_is_tried_again_after_it_was_lost_begins_its_chat() {
    let test = Setup::new(says("hello")).start().await;
    let mut client = Client::new(&test, "c");
    // `sendMessage` without a message names the last one.
    client.says("m1", "hi").with("messageId", json!("m1")).send().await;
    client.says("m2", "more").with("messageId", json!("m2")).send().await;
    client.messages.pop();
    client.with("messageId", json!("m2")).send().await;
    let all = ["u: hi", "a: hello", "u: more", "a: hello"];
    assert_eq!(
        (shown(&stored(&test).await), client.shows()),
        (all.map(str::to_owned).to_vec(), client.shows())
    );
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_takes_no_text_of_a_turn_along_that_the_model_no_longer_reads() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "c");
    let events = client.says("m1", "boom").open().await;
    script.next().await.fail(ModelError::KILLED_ENGINE);
    client.end(events).await;
    client.messages.truncate(1);
    let told = answered(client.says("m2", "two"), &mut script, "2").await;
    assert_eq!(told.last().map(|text| &**text), Some("two"));
    let told = answered(edits(&mut client, 1, "zwei"), &mut script, "II").await;
    assert_eq!(told, ["zwei"]);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_takes_no_consent_and_no_open_call_along() {
    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let test = Setup::new(ScriptedModel::repeating([asks(), ScriptedCompletion::text("done")]))
        .tool(tool)
        .start()
        .await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7").send().await;
    let request = test.get("/v1/inbox").await.ok(200)["approval_requests"][0].clone();
    let decision = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
    let always = json!({ "digest": request["digest"], "decision": "approve_always" });
    test.post(&decision, always).await.ok(200);
    client.messages.pop();
    assert_eq!((finish(&client.send().await), runs.count()), ("stop", 1));

    client.says("m2", "delete it again").send().await;
    assert_eq!(runs.count(), 2, "the consent holds in its chat");
    assert_eq!(finish(&edits(&mut client, 2, "delete it once more").send().await), "tool-calls");
    let open = async || test.get("/v1/inbox").await.ok(200)["approval_requests"].clone();
    let asked = open().await;
    assert_eq!((runs.count(), asked.as_array().unwrap().len()), (2, 1), "the fork asks");

    // An edit of the message whose question is open withdraws the question.
    let parts = edits(&mut client, 2, "delete 7, please").send().await;
    assert_eq!(finish(&parts), "tool-calls");
    let superseded = |part: &&Value| part["data"]["type"] == "superseded";
    assert_eq!(parts.iter().filter(superseded).count(), 1);
    let now = open().await;
    assert_eq!(now.as_array().unwrap().len(), 1);
    assert_ne!(now[0]["call"], asked[0]["call"]);
    client.responds(true, None).send().await;
    assert_eq!(runs.count(), 3);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_fork_begins_while_a_turn_runs_or_without_a_text() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "c");
    answered(client.says("m1", "one"), &mut script, "1").await;
    answered(client.says("m0", "and"), &mut script, "0").await;
    let before = client.messages.clone();
    let empty = edits(&mut client, 2, " ").refused().await;
    assert_eq!((empty.status, &*empty.problem()), (422, "empty"));
    client.messages = before.clone();
    let events = client.says("m2", "two").open().await;
    let completion = script.next().await;
    let mut other = Client::new(&test, "c");
    other.messages = before;
    let busy = edits(&mut other, 0, "uno").refused().await;
    assert_eq!((busy.status, &*busy.problem()), (409, "busy"));
    completion.say("2");
    client.end(events).await;
    assert_eq!(test.get("/v1/sessions").await.ok(200)["sessions"].as_array().unwrap().len(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_server_goes_on_in_the_fork() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let start = async || {
        let store = SqliteStore::open(&path).migrations("server", &MIGRATIONS).await;
        Setup::over(says("hello"), store.unwrap()).remembering().start().await
    };
    let test = start().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "hi").send().await;
    edits(&mut client, 0, "good morning").send().await;
    test.shutdown().await;

    let test = start().await;
    assert_eq!(shown(&stored(&test).await), ["u: good morning", "a: hello"]);
    let lees = Request::get("/api/chat/c/messages").bearer(test.lee.reveal());
    assert_eq!(lees.send(test.address).await.status, 404);
    test.shutdown().await;
}
