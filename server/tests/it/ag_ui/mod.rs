//! Clients of AG-UI. Each run keeps the order that they verify, and a cut run is joined without a
//! doubled word. A question is an interrupt that a later run resumes, also where another client was
//! faster.

mod edits;
mod interrupts;
mod restarts;
mod runs;

use madang_testing::{Runs, ScriptedCompletion, ScriptedModel};
use serde_json::{Map, Value, json};

use crate::{
    http::{Answer, EventReader, Request, StreamEnd},
    support::{Setup, TestServer, delete},
};

const PATH: &str = "/ag-ui";

/// A client with its messages and state, which it verifies and changes as the protocol says.
struct Client<'a> {
    test: &'a TestServer,
    token: String,
    thread: &'a str,
    messages: Vec<Value>,
    state: Value,
    /// What a run may have beside.
    more: Map<String, Value>,
    runs: usize,
}

/// A run that was read to its end.
#[derive(Debug)]
struct ReadRun {
    events: Vec<Value>,
}

impl ReadRun {
    fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(|event| event["type"].as_str().unwrap()).collect()
    }

    fn last(&self) -> &Value {
        self.events.last().unwrap()
    }

    /// How the run ended: its outcome, or the code of its error.
    fn end(&self) -> &str {
        let last = self.last();
        last["outcome"]["type"].as_str().or(last["code"].as_str()).unwrap()
    }

    /// The question with which the run ended.
    fn interrupt(&self) -> Value {
        assert_eq!(self.end(), "interrupt", "{self:#?}");
        let interrupts = self.last()["outcome"]["interrupts"].as_array().unwrap();
        assert_eq!(interrupts.len(), 1);
        interrupts[0].clone()
    }

    fn custom(&self, name: &str) -> Vec<&Value> {
        let is_it = |event: &&Value| event["type"] == "CUSTOM" && event["name"] == name;
        self.events.iter().filter(is_it).map(|event| &event["value"]).collect()
    }

    /// The content of a call's outcome.
    fn result(&self) -> Value {
        let result = self.events.iter().find(|event| event["type"] == "TOOL_CALL_RESULT");
        let result = result.unwrap_or_else(|| panic!("no result in {self:#?}"));
        serde_json::from_str(result["content"].as_str().unwrap()).unwrap()
    }
}

impl<'a> Client<'a> {
    fn new(test: &'a TestServer, thread: &'a str) -> Self {
        let messages = Vec::new();
        let state = json!({});
        let more = Map::new();
        let token = test.kim.reveal().to_owned();
        Self { test, token, thread, messages, state, more, runs: 0 }
    }

    /// Adds a message of the user's.
    fn says(&mut self, id: &str, text: &str) -> &mut Self {
        self.messages.push(json!({ "id": id, "role": "user", "content": text }));
        self
    }

    fn with(&mut self, name: &str, value: Value) -> &mut Self {
        self.more.insert(name.to_owned(), value);
        self
    }

    fn request(&mut self) -> Request {
        self.runs += 1;
        let mut body = json!({
            "threadId": self.thread, "runId": format!("r{}", self.runs), "messages": self.messages,
            "state": self.state, "tools": [], "context": [], "forwardedProps": {},
        });
        body.as_object_mut().unwrap().append(&mut self.more);
        Request::post(PATH, &body).bearer(&self.token)
    }

    /// Begins a run and leaves it open.
    async fn open(&mut self) -> EventReader {
        self.request().stream(self.test.address).await
    }

    /// Sends a run that is refused.
    async fn refused(&mut self) -> Answer {
        let answer = self.request().send(self.test.address).await;
        assert_eq!(answer.header("content-type"), Some("application/json"), "{}", answer.text());
        answer
    }

    /// Runs to the end.
    async fn run(&mut self) -> ReadRun {
        let events = self.open().await;
        self.end(events).await
    }

    /// Reads a run to its end, which is clean.
    async fn end(&mut self, mut events: EventReader) -> ReadRun {
        let (frames, end) = events.end().await;
        assert_eq!(end, StreamEnd::Whole);
        let told = ReadRun { events: frames.into_iter().map(|frame| frame.data).collect() };
        self.verify(&told);
        for event in &told.events {
            self.apply(event);
        }
        told
    }

    async fn resume(&mut self, interrupt: &Value, payload: Value) -> ReadRun {
        let entry =
            json!({ "interruptId": interrupt["id"], "status": "resolved", "payload": payload });
        self.with("resume", json!([entry])).run().await
    }

    fn cancels(&mut self, interrupt: &Value) -> &mut Self {
        self.with("resume", json!([{ "interruptId": interrupt["id"], "status": "cancelled" }]))
    }

    /// Checks the rules by which clients refuse a run.
    fn verify(&self, told: &ReadRun) {
        let kinds = told.kinds();
        let is_end = |kind: &&str| ["RUN_FINISHED", "RUN_ERROR"].contains(kind);
        assert_eq!(kinds.iter().filter(|kind| is_end(kind)).count(), 1, "{told:#?}");
        assert!(is_end(kinds.last().unwrap()), "{told:#?}");
        if kinds != ["RUN_ERROR"] {
            let first = &told.events[0];
            assert_eq!(first["type"], "RUN_STARTED");
            assert_eq!(
                (&first["threadId"], &first["protocolVersion"]),
                (&json!(self.thread), &json!("1.0"))
            );
            assert_eq!(first["runId"], format!("r{}", self.runs));
        }
        let mut open = Vec::new();
        for event in &told.events {
            assert!(event.as_object().unwrap().values().all(|value| !value.is_null()), "{event}");
            let id = format!("{}{}", event["messageId"], event["toolCallId"]);
            match event["type"].as_str().unwrap().rsplit_once('_').unwrap_or_default() {
                (kind, "START") => open.push((kind.to_owned(), id)),
                (kind, "CONTENT" | "ARGS") => {
                    assert!(open.contains(&(kind.to_owned(), id)), "{told:#?}")
                }
                (kind, "END") => open.retain(|one| *one != (kind.to_owned(), id.clone())),
                _ => {}
            }
        }
        assert!(open.is_empty(), "{open:?} in {told:#?}");
    }

    fn apply(&mut self, event: &Value) {
        let find = |messages: &mut Vec<Value>, id: &Value| -> usize {
            messages.iter().position(|message| message["id"] == *id).unwrap()
        };
        match event["type"].as_str().unwrap() {
            "MESSAGES_SNAPSHOT" => {
                let fresh = event["messages"].as_array().unwrap();
                let of = |id: &Value| fresh.iter().find(|message| message["id"] == *id).cloned();
                let kept: Vec<_> = self.messages.iter().filter_map(|old| of(&old["id"])).collect();
                let is_new = |message: &&Value| kept.iter().all(|old| old["id"] != message["id"]);
                let new: Vec<_> = fresh.iter().filter(is_new).cloned().collect();
                self.messages = [kept, new].concat();
            }
            "STATE_SNAPSHOT" => self.state = event["snapshot"].clone(),
            "TEXT_MESSAGE_START" => self.messages.push(
                json!({ "id": event["messageId"], "role": "assistant", "content": "" }),
            ),
            "TEXT_MESSAGE_CONTENT" => {
                let at = find(&mut self.messages, &event["messageId"]);
                let said = self.messages[at]["content"].as_str().unwrap_or_default();
                let text = format!("{said}{}", event["delta"].as_str().unwrap());
                self.messages[at]["content"] = text.into();
            }
            "TOOL_CALL_START" => self.messages.push(json!({
                "id": event["parentMessageId"], "role": "assistant",
                "toolCalls": [{ "id": event["toolCallId"], "function": { "name": event["toolCallName"] } }],
            })),
            "TOOL_CALL_RESULT" => self.messages.push(json!({
                "id": event["messageId"], "role": "tool", "toolCallId": event["toolCallId"], "content": event["content"],
            })),
            _ => {}
        }
    }

    /// The texts of the client's messages, with calls by the names of their tools.
    fn shows(&self) -> Vec<String> {
        let text = |message: &Value| match message["role"].as_str().unwrap() {
            "tool" => "result".to_owned(),
            role => {
                let call = message["toolCalls"][0]["function"]["name"].as_str();
                let said = call.map(|name| format!("{name}()"));
                let said = said.unwrap_or_else(|| message["content"].as_str().unwrap().to_owned());
                format!("{}: {said}", &role[..1])
            }
        };
        self.messages.iter().map(text).collect()
    }
}

fn deleting_script() -> [ScriptedCompletion; 2] {
    let call = ScriptedCompletion::call("delete", &json!({ "id": 7 }));
    [call.saying("I delete it."), ScriptedCompletion::text("done")]
}

/// A server whose model asks for the destructive tool, and then says that it is done.
async fn deleting() -> (TestServer, Runs) {
    let tool = delete();
    let runs = tool.runs();
    (Setup::new(ScriptedModel::repeating(deleting_script())).tool(tool).start().await, runs)
}

/// Decides about an interrupt on another device.
async fn decide_elsewhere(test: &TestServer, interrupt: &Value, decision: &str) -> Answer {
    let (call, digest) = interrupt["id"].as_str().unwrap().split_once(':').unwrap();
    let body = json!({ "digest": digest, "decision": decision });
    test.post(&format!("/v1/approvals/{call}/decision"), body).await
}

/// Waits until the chat has had this many turns to their end.
async fn ended(test: &TestServer, session: &str, turns: usize) {
    let mut events = test.stream(&format!("/v1/sessions/{session}/events")).await;
    for _ in 0..turns {
        events.until("turn_ended").await;
    }
}

const SHOWN: [&str; 5] = ["u: delete 7", "a: I delete it.", "a: delete()", "result", "a: done"];
