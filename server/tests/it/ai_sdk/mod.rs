//! Clients of the AI SDK. Each turn is one message, a stream can be told again, a decision lets the
//! turn go on, and a stop is said.

mod decisions;
mod edits;
mod restarts;
mod streams;

use std::collections::BTreeSet;

use madang_testing::{FakeTool, Runs, ScriptedCompletion, ScriptedModel};
use serde_json::{Map, Value, json};

use crate::{
    http::{Answer, EventReader, Request, StreamEnd},
    support::{Setup, TestServer},
};

/// A client with its messages, as `useChat` keeps them.
struct Client<'a> {
    test: &'a TestServer,
    token: String,
    chat: &'a str,
    messages: Vec<Value>,
    /// What a request may have beside.
    more: Map<String, Value>,
}

impl<'a> Client<'a> {
    fn new(test: &'a TestServer, chat: &'a str) -> Self {
        let token = test.kim.reveal().to_owned();
        Self { test, token, chat, messages: Vec::new(), more: Map::new() }
    }

    fn says(&mut self, id: &str, text: &str) -> &mut Self {
        let parts = json!([{ "type": "text", "text": text }]);
        self.messages.push(json!({ "id": id, "role": "user", "parts": parts }));
        self
    }

    fn with(&mut self, name: &str, value: Value) -> &mut Self {
        self.more.insert(name.to_owned(), value);
        self
    }

    fn request(&mut self) -> Request {
        let mut body =
            json!({ "id": self.chat, "messages": self.messages, "trigger": "submit-message" });
        body.as_object_mut().unwrap().append(&mut self.more);
        Request::post("/api/chat", &body).bearer(&self.token)
    }

    async fn open(&mut self) -> EventReader {
        let events = self.request().stream(self.test.address).await;
        assert_eq!(events.header("x-vercel-ai-ui-message-stream"), Some("v1"));
        events
    }

    async fn refused(&mut self) -> Answer {
        self.request().send(self.test.address).await
    }

    /// Sends the messages, and reads the answer to its end.
    async fn send(&mut self) -> Vec<Value> {
        let events = self.open().await;
        self.end(events).await
    }

    /// Reads a stream to its end, which is whole.
    async fn end(&mut self, mut events: EventReader) -> Vec<Value> {
        let (frames, end) = events.end().await;
        assert_eq!(end, StreamEnd::Whole);
        let mut parts: Vec<_> = frames.into_iter().map(|frame| frame.data).collect();
        assert_eq!(parts.pop(), Some("[DONE]".into()));
        self.hear(&parts);
        parts
    }

    fn path(&self, what: &str) -> String {
        format!("/api/chat/{}/{what}", self.chat)
    }

    /// Comes back to the turn that runs; its message begins anew.
    async fn come_back(&mut self) -> EventReader {
        let request = Request::get(&self.path("stream")).bearer(&self.token);
        let events = request.stream(self.test.address).await;
        if self.messages.last().is_some_and(|last| last["role"] == "assistant") {
            self.messages.pop();
        }
        events
    }

    async fn comes_back_for_nothing(&self) {
        let request = Request::get(&self.path("stream")).bearer(&self.token);
        assert_eq!(request.send(self.test.address).await.status, 204);
    }

    /// Responds to the approval that the last message shows.
    fn responds(&mut self, approved: bool, reason: Option<&str>) -> &mut Self {
        let part = self.tools_mut().find(|part| part["state"] == "approval-requested").unwrap();
        part["state"] = "approval-responded".into();
        part["approval"]["approved"] = approved.into();
        if let Some(reason) = reason {
            part["approval"]["reason"] = reason.into();
        }
        // Otherwise a client sends nothing.
        let step: Vec<_> = self.last_step();
        let is_settled = |part: &Value| {
            let state = part["state"].as_str().unwrap();
            state == "approval-responded" || state.starts_with("output-")
        };
        assert!(step.iter().all(is_settled), "the client waits for another decision: {step:#?}");
        self
    }

    fn parts(&mut self) -> &mut Vec<Value> {
        self.messages.last_mut().unwrap()["parts"].as_array_mut().unwrap()
    }

    fn tools_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.parts().iter_mut().filter(|part| part["type"] == "dynamic-tool")
    }

    /// The tool parts of the last step.
    fn last_step(&mut self) -> Vec<Value> {
        let parts = self.parts();
        let begins = parts.iter().rposition(|part| part["type"] == "step-start").unwrap_or(0);
        parts[begins..].iter().filter(|part| part["type"] == "dynamic-tool").cloned().collect()
    }

    /// Takes the parts of a stream as the SDK does, and fails where it would.
    fn hear(&mut self, stream: &[Value]) {
        let mut open = BTreeSet::new();
        for part in stream {
            let text = |key: &str| part[key].as_str().unwrap_or_default().to_owned();
            let kind = text("type");
            match &*kind {
                "start" => {
                    let id = &part["messageId"];
                    if self.messages.last().is_none_or(|last| last["id"] != *id) {
                        self.messages.push(json!({ "id": id, "role": "assistant", "parts": [] }));
                    }
                }
                "start-step" => self.parts().push(json!({ "type": "step-start" })),
                "text-start" => {
                    assert!(open.insert(text("id")));
                    self.parts().push(json!({ "type": "text", "text": "" }));
                }
                "text-delta" => {
                    assert!(open.contains(&text("id")));
                    let last = self.parts().last_mut().unwrap();
                    last["text"] =
                        format!("{}{}", last["text"].as_str().unwrap(), text("delta")).into();
                }
                "text-end" => assert!(open.remove(&text("id"))),
                "tool-input-available" => {
                    assert_eq!(
                        (&part["dynamic"], &part["providerExecuted"]),
                        (&json!(true), &json!(true))
                    );
                    let fresh = json!({
                        "type": "dynamic-tool", "toolName": part["toolName"], "toolCallId": part["toolCallId"],
                        "state": "input-available", "input": part["input"],
                    });
                    let same = self.tools_mut().find(|old| old["toolCallId"] == part["toolCallId"]);
                    match same {
                        Some(old) => *old = fresh,
                        None => self.parts().push(fresh),
                    }
                }
                "tool-approval-request"
                | "tool-output-available"
                | "tool-output-error"
                | "tool-output-denied" => {
                    let id = &part["toolCallId"];
                    let shown = self.tools_mut().find(|old| old["toolCallId"] == *id);
                    let shown = shown.unwrap_or_else(|| panic!("no tool invocation found: {part}"));
                    match &*kind {
                        "tool-approval-request" => {
                            shown["state"] = "approval-requested".into();
                            shown["approval"] = json!({ "id": part["approvalId"] });
                        }
                        state => {
                            shown["state"] = state.trim_start_matches("tool-").into();
                            shown["output"] = part["output"].clone();
                            shown["errorText"] = part["errorText"].clone();
                        }
                    }
                }
                "finish" | "abort" => assert!(open.is_empty(), "{open:?}"),
                _ => {}
            }
        }
    }

    /// The messages: the texts, and the calls with their states.
    fn shows(&self) -> Vec<String> {
        shown(&self.messages)
    }
}

fn shown(messages: &[Value]) -> Vec<String> {
    let part = |part: &Value| match part["type"].as_str().unwrap() {
        "text" => part["text"].as_str().map(str::to_owned),
        "dynamic-tool" => Some(format!("({})", part["state"].as_str().unwrap())),
        _ => None,
    };
    let message = |message: &Value| {
        let parts = message["parts"].as_array().unwrap().iter().filter_map(part);
        format!(
            "{}: {}",
            &message["role"].as_str().unwrap()[..1],
            parts.collect::<Vec<_>>().join(" ")
        )
    };
    messages.iter().map(message).collect()
}

fn kinds(parts: &[Value]) -> Vec<&str> {
    parts.iter().map(|part| part["type"].as_str().unwrap()).collect()
}

/// The reason with which a stream ended.
fn finish(parts: &[Value]) -> &str {
    let last = parts.last().unwrap();
    last["finishReason"].as_str().or(last["type"].as_str()).unwrap()
}

fn asks() -> ScriptedCompletion {
    ScriptedCompletion::call("delete", &json!({ "id": 7 })).saying("I delete it.")
}

/// A server whose model asks for the destructive tool, and then says that it is done.
async fn deleting() -> (TestServer, Runs) {
    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let script = [asks(), ScriptedCompletion::text("done")];
    (Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await, runs)
}

/// Decides about the only open request, on another device.
async fn decide_elsewhere(test: &TestServer, decision: &str) {
    let request = test.get("/v1/inbox").await.ok(200)["approval_requests"][0].clone();
    let path = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
    test.post(&path, json!({ "digest": request["digest"], "decision": decision })).await.ok(200);
}

const ASKED: [&str; 2] = ["u: delete 7", "a: I delete it. (approval-requested)"];
