//! Clients of the AI SDK: one message a turn, a stream that is told again, decisions that are sent and go on, and a stop
//! that is said.

use std::collections::BTreeSet;

use madang::{UserId, model::Completion, store::SqliteStore};
use madang_server::{TokenEntry, TokenHolder, TokenScope, TokenSecret};
use madang_testing::{FakeTool, Runs, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Map, Value, json};

use crate::{
    http::{Answer, EventReader, Request, StreamEnd},
    support::{Setup, TestServer, says},
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
async fn the_stream_ends_at_the_question_and_the_decision_goes_on_with_its_message() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "c");
    let parts = client.says("m1", "delete 7").send().await;
    let asked = &parts[parts.len() - 3];
    assert_eq!(asked["type"], "tool-approval-request");
    assert!(asked["approvalDescriptor"]["text"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(asked["approvalDescriptor"]["expires_at"].is_i64());
    assert_eq!((finish(&parts), client.shows()), ("tool-calls", ASKED.map(str::to_owned).to_vec()));
    // A client that comes back is asked again.
    let back = client.come_back().await;
    client.end(back).await;
    assert_eq!(client.shows(), ASKED);
    let before = client.responds(true, None).messages.clone();
    let parts = client.send().await;
    assert_eq!((finish(&parts), runs.count()), ("stop", 1));
    assert!(!kinds(&parts).contains(&"tool-input-available"), "only what is new");
    let done = ["u: delete 7", "a: I delete it. (output-available) done"];
    assert_eq!(client.shows(), done);

    // A message whose question was answered while it was open, told from its beginning, asks nothing.
    client.messages.pop();
    assert_eq!(finish(&client.send().await), "stop");
    assert_eq!(client.shows(), done);
    // The answer was lost: the client sends its decision again.
    client.messages = before;
    assert_eq!(finish(&client.send().await), "stop");
    assert_eq!((client.shows(), runs.count()), (done.map(str::to_owned).to_vec(), 1));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_questions_of_a_round_are_asked_one_after_the_other() {
    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let round = asks().and_call("look", &json!({})).and_call("delete", &json!({ "id": 8 }));
    let script = [round, ScriptedCompletion::text("done")];
    let test = Setup::new(ScriptedModel::repeating(script))
        .tool(tool)
        .tool(FakeTool::read("look"))
        .start()
        .await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete both").send().await;
    assert_eq!(client.shows()[1], "a: I delete it. (approval-requested)", "one call is shown");
    let decided = client.responds(true, None).messages.clone();
    for _ in 0..2 {
        // Once more, as where the answer was lost.
        client.messages = decided.clone();
        assert_eq!(finish(&client.send().await), "tool-calls");
    }
    assert_eq!(
        client.shows()[1],
        "a: I delete it. (output-available) (output-available) (approval-requested)"
    );
    let parts = client.responds(false, Some("not that")).send().await;
    assert_eq!((finish(&parts), runs.count()), ("stop", 1));
    assert_eq!(
        client.shows()[1],
        "a: I delete it. (output-available) (output-available) (output-denied) done"
    );
    let rows = test.get("/v1/ledger").await.ok(200);
    assert_eq!(rows["calls"][2]["outcome"]["message"], "not that");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_elsewhere_is_told_and_locks_no_client() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7").send().await;
    decide_elsewhere(&test, "deny").await;
    let parts = client.responds(true, None).send().await;
    assert_eq!((finish(&parts), runs.count()), ("stop", 0));
    assert_eq!(client.shows()[1], "a: I delete it. (output-denied) done");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_text_takes_the_place_of_a_question_and_is_no_yes() {
    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let script = [asks(), ScriptedCompletion::text("kept")];
    let test = Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7").send().await;
    let old = client.messages[1]["id"].clone();
    let parts = client.says("m2", "keep it").send().await;
    let notice = json!({ "type": "superseded", "turn": old });
    assert_eq!((&parts[1]["type"], &parts[1]["data"]), (&json!("data-madang-notice"), &notice));
    assert_eq!(client.shows(), [ASKED[0], ASKED[1], "u: keep it", "a: kept"]);
    assert_eq!(runs.count(), 0);
    assert_eq!(test.get("/v1/inbox").await.ok(200)["approval_requests"], json!([]));
    let stored = test.get("/api/chat/c/messages").await.ok(200);
    assert_eq!(shown(stored.as_array().unwrap())[1], "a: I delete it. (output-error)");
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
async fn a_stream_that_the_server_leaves_breaks_off_and_the_next_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::options(&path).open().await.unwrap();
    let (model, mut script) = model_pair();
    let mut test = Setup::over(model, store().await).start().await;
    let mut events = Client::new(&test, "c").says("m1", "delete 7").open().await;
    let completion = script.next().await;
    completion.delta("half");
    test.stop();
    let (frames, end) = events.end().await;
    assert_eq!(end, StreamEnd::BrokenOff, "a clean end would look like a whole answer");
    assert_eq!(frames.last().unwrap().data["type"], "error");
    test.ended().await.unwrap();

    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let script = [asks(), ScriptedCompletion::text("done")];
    let test =
        Setup::over(ScriptedModel::repeating(script), store().await).tool(tool).start().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7");
    let back = client.come_back().await;
    client.end(back).await;
    assert_eq!(client.shows(), ASKED);
    client.responds(true, None).send().await;
    assert_eq!((&*client.shows()[1], runs.count()), ("a: I delete it. (output-available) done", 1));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_comes_to_the_next_server_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::options(&path).open().await.unwrap();
    let test = Setup::over(ScriptedModel::new([asks()]), store().await);
    let test = test.tool(FakeTool::destructive("delete")).start().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7").send().await;
    let messages = std::mem::take(&mut client.messages);
    test.shutdown().await;

    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let model = ScriptedModel::new([ScriptedCompletion::text("done")]);
    let test = Setup::over(model, store().await).tool(tool).start().await;
    let mut client = Client::new(&test, "c");
    client.messages = messages;
    let stream = client.responds(true, None).send().await;
    assert_eq!((finish(&stream), runs.count()), ("stop", 1));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_about_another_chat_or_about_nothing_changes_nothing() {
    let (test, runs) = deleting().await;
    let mut other = Client::new(&test, "other");
    other.says("m1", "delete 7").send().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7").send().await;
    let own = client.messages.clone();
    let foreign = other.parts().last().unwrap()["approval"]["id"].clone();
    let id = client.parts().last().unwrap()["approval"]["id"].as_str().unwrap().to_owned();
    let wrong = format!("{}:{}", id.split_once(':').unwrap().0, "0".repeat(64));
    for id in [foreign, json!("approval-1"), json!(wrong)] {
        client.messages = own.clone();
        client.parts().last_mut().unwrap()["approval"]["id"] = id;
        let parts = client.responds(true, None).send().await;
        assert_eq!(
            (finish(&parts), client.shows()),
            ("tool-calls", ASKED.map(str::to_owned).to_vec())
        );
    }
    // A message of the assistant with nothing to decide goes on with the turn: the question is open.
    client.messages = own;
    assert_eq!(finish(&client.send().await), "tool-calls");
    assert_eq!(client.shows(), ASKED);
    assert_eq!(
        test.get("/v1/inbox").await.ok(200)["approval_requests"].as_array().unwrap().len(),
        2
    );
    assert_eq!(runs.count(), 0);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_may_not_decide_asks_elsewhere_and_decides_nothing() {
    let secret = TokenSecret::random().unwrap();
    let kim = TokenHolder::User(UserId::new("kim").unwrap());
    let token = TokenEntry::new("chats", kim, [TokenScope::Chat].into_iter().collect(), &secret);
    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let script = [asks(), ScriptedCompletion::text("done")];
    let test = Setup::new(ScriptedModel::repeating(script))
        .options(|options| options.token(token))
        .tool(tool)
        .start()
        .await;
    let mut client = Client::new(&test, "c");
    client.token = secret.reveal().to_owned();
    let mut events = client.says("m1", "delete 7").open().await;
    let asked = events.until_data(|part| part["data"]["type"] == "approval_requested").await;
    let request = &asked.last().unwrap().data["data"];
    let id =
        format!("{}:{}", request["call"].as_str().unwrap(), request["digest"].as_str().unwrap());
    let part = json!({ "type": "dynamic-tool", "state": "approval-responded", "approval": { "id": id, "approved": true } });
    let message = json!({ "id": "x", "role": "assistant", "parts": [part] });
    let refused = client.with("message", message).refused().await;
    assert_eq!((refused.status, &*refused.problem()), (403, "scope"));
    assert_eq!(runs.count(), 0);
    decide_elsewhere(&test, "approve").await;
    let (told, _) = events.end().await;
    assert_eq!(
        (told[told.len() - 2].data["finishReason"].as_str(), runs.count()),
        (Some("stop"), 1)
    );
    // A client may also ask no person.
    let mut unattended = Client::new(&test, "none");
    unattended.says("m1", "delete 7").with("ask", json!("none")).send().await;
    assert_eq!(unattended.shows()[1], "a: I delete it. (output-error) done");
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
