//! Clients of OpenAI's protocol. An answer comes whole or breaks off, a repeated request joins its
//! turn, and a loop of messages is one chat.

mod answers;
mod chats;
mod questions;
mod retries;

use madang_testing::{FakeTool, Runs, ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};

use crate::{
    http::{Answer, EventReader, Frame, Request},
    support::{Setup, TestServer},
};

const PATH: &str = "/v1/chat/completions";

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

fn ask(messages: &[Value]) -> Request {
    Request::post(PATH, &json!({ "model": "any", "messages": messages }))
}

/// The same, answered as a stream with its usage.
fn stream(messages: &[Value]) -> Request {
    let options = json!({ "include_usage": true });
    let body =
        json!({ "model": "any", "messages": messages, "stream": true, "stream_options": options });
    Request::post(PATH, &body)
}

async fn open(test: &TestServer, request: Request) -> EventReader {
    request.bearer(test.kim.reveal()).stream(test.address).await
}

/// The text of a plain answer.
fn said(answer: &Answer) -> String {
    let body = answer.ok(200);
    body["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

/// The texts of a stream's chunks as one.
fn streamed(frames: &[Frame]) -> String {
    let pieces =
        frames.iter().filter_map(|frame| frame.data["choices"][0]["delta"]["content"].as_str());
    pieces.collect()
}

/// Sends the messages, and gives the answer's text and the chat.
async fn say(test: &TestServer, messages: &[Value]) -> (String, String) {
    let answer = test.send(ask(messages)).await;
    (said(&answer), answer.header("madang-session").unwrap().to_owned())
}

async fn chats(test: &TestServer) -> usize {
    let list = test.get("/v1/sessions").await.ok(200);
    list["sessions"].as_array().unwrap().len()
}

/// A server whose model asks for the destructive tool, and then says that it is done.
async fn deleting() -> (TestServer, Runs) {
    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let script =
        [ScriptedCompletion::call("delete", &json!({ "id": 7 })), ScriptedCompletion::text("done")];
    (Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await, runs)
}

/// Decides about the only open request.
async fn decide(test: &TestServer, decision: &str) {
    let open = test.get("/v1/inbox").await.ok(200);
    let request = &open["approval_requests"][0];
    let path = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
    test.post(&path, json!({ "digest": request["digest"], "decision": decision })).await.ok(200);
}
