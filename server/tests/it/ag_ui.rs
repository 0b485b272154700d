//! Clients of AG-UI: each run keeps the order that they verify, a cut run is joined without a doubled word, and a question
//! is an interrupt that a later run resumes, whoever was faster.

use std::time::Duration;

use madang::{Limits, UserId, model::Completion, store::SqliteStore, tool::WantedCall};
use madang_server::{OnDisconnect, TokenEntry, TokenHolder, TokenScope, TokenSecret};
use madang_testing::{End, FakeTool, Runs, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Map, Value, json};

use crate::{
    http::{Answer, EventReader, Request, StreamEnd},
    support::{Setup, TestServer, says},
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
struct Told {
    events: Vec<Value>,
}

impl Told {
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
        let (messages, state, more) = (Vec::new(), json!({}), Map::new());
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
    async fn run(&mut self) -> Told {
        let events = self.open().await;
        self.end(events).await
    }

    /// Reads a run to its end, which is clean.
    async fn end(&mut self, mut events: EventReader) -> Told {
        let (frames, end) = events.end().await;
        assert_eq!(end, StreamEnd::Whole);
        let told = Told { events: frames.into_iter().map(|frame| frame.data).collect() };
        self.verify(&told);
        for event in &told.events {
            self.apply(event);
        }
        told
    }

    async fn resume(&mut self, interrupt: &Value, payload: Value) -> Told {
        let entry =
            json!({ "interruptId": interrupt["id"], "status": "resolved", "payload": payload });
        self.with("resume", json!([entry])).run().await
    }

    fn cancels(&mut self, interrupt: &Value) -> &mut Self {
        self.with("resume", json!([{ "interruptId": interrupt["id"], "status": "cancelled" }]))
    }

    /// Checks the rules by which clients refuse a run.
    fn verify(&self, told: &Told) {
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

fn delete() -> FakeTool {
    FakeTool::destructive("delete").parameters(json!({
        "type": "object",
        "properties": { "id": { "type": "integer" } },
        "required": ["id"],
        "additionalProperties": false,
    }))
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
    let told = Told { events: before.into_iter().chain(rest).map(|frame| frame.data).collect() };
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
    let other = client.messages[0].clone();
    client.messages = vec![json!({ "id": other["id"], "role": "user", "content": "else" })];
    let reused = client.refused().await;
    assert_eq!((reused.status, &*reused.problem()), (422, "key-reused"));
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
async fn a_question_is_an_interrupt_and_the_run_that_resumes_it_goes_on() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    assert_eq!(client.shows(), SHOWN[..3]);
    let call = interrupt["toolCallId"].as_str().unwrap();
    assert!(interrupt["id"].as_str().unwrap().starts_with(call));
    assert_eq!(interrupt["reason"], "tool_call");
    assert!(interrupt["message"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(interrupt["expiresAt"].as_str().unwrap().ends_with('Z'));
    let form = &interrupt["responseSchema"]["properties"];
    assert_eq!(form["editedArgs"]["properties"]["id"]["type"], "integer");
    assert_eq!(interrupt["metadata"]["madang"]["approval_request"]["call"], call);
    assert_eq!(runs.count(), 0);
    let told = client.resume(&interrupt, json!({ "approved": true })).await;
    assert_eq!((told.end(), runs.count()), ("success", 1));
    assert_eq!(told.result()["status"], "ok");
    assert_eq!(told.custom("madang.approval_ended").len(), 1);
    assert!(told.custom("madang.decided_elsewhere").is_empty());
    assert_eq!(client.shows(), SHOWN);

    // A client whose answer was lost resumes once more.
    let told = client.resume(&interrupt, json!({ "approved": true })).await;
    assert_eq!((told.end(), runs.count()), ("success", 1));
    assert!(told.custom("madang.decided_elsewhere").is_empty(), "it had decided itself");
    assert_eq!(client.shows(), SHOWN);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_denies_with_words_or_edits_what_runs() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let told = client.resume(&interrupt, json!({ "approved": false, "message": "not now" })).await;
    assert_eq!(
        (&told.result()["reason"], &told.result()["message"]),
        (&json!("denied"), &json!("not now"))
    );
    assert_eq!((told.end(), runs.count()), ("success", 0));

    let mut client = Client::new(&test, "edits");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let payload = |id: Value| json!({ "approved": true, "editedArgs": { "id": id } });
    let entry = json!({ "interruptId": interrupt["id"], "status": "resolved", "payload": payload(json!("x")) });
    let wrong = client.with("resume", json!([entry])).refused().await;
    assert_eq!((wrong.status, &*wrong.problem()), (422, "does-not-fit"));
    let told = client.resume(&interrupt, payload(json!(8))).await;
    assert_eq!(told.result()["arguments"], json!({ "id": 8 }), "the question stayed open");
    assert_eq!((told.end(), runs.count()), ("success", 1));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_elsewhere_is_told_and_locks_no_client() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    decide_elsewhere(&test, &interrupt, "deny").await.ok(200);
    ended(&test, "t", 1).await;
    let told = client.resume(&interrupt, json!({ "approved": true })).await;
    assert_eq!((told.end(), runs.count()), ("success", 0));
    assert_eq!(told.custom("madang.decided_elsewhere")[0]["call"], interrupt["toolCallId"]);
    assert_eq!(client.shows(), SHOWN);
    assert!(client.messages[3]["content"].as_str().unwrap().contains("denied"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_expires_and_a_late_yes_changes_nothing() {
    let mut limits = Limits::default();
    limits.decision_timeout = Duration::from_millis(200);
    let tool = delete();
    let runs = tool.runs();
    let test = Setup::new(ScriptedModel::repeating(deleting_script()))
        .build(|builder| builder.limits(limits))
        .tool(tool)
        .start()
        .await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    ended(&test, "t", 1).await;
    let told = client.resume(&interrupt, json!({ "approved": true })).await;
    assert_eq!((told.end(), runs.count()), ("success", 0));
    assert_eq!(told.custom("madang.decided_elsewhere").len(), 1);
    assert!(client.messages[3]["content"].as_str().unwrap().contains("expired"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_questions_of_a_round_are_asked_one_after_the_other() {
    let tool = delete();
    let runs = tool.runs();
    let script = [
        ScriptedCompletion::call("delete", &json!({ "id": 7 }))
            .and_call("delete", &json!({ "id": 8 })),
        ScriptedCompletion::text("done"),
    ];
    let test = Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await;
    let mut client = Client::new(&test, "t");
    let first = client.says("m1", "delete both").run().await.interrupt();
    let second = client.resume(&first, json!({ "approved": true })).await.interrupt();
    assert_ne!(first["id"], second["id"]);
    assert_eq!(client.resume(&second, json!({ "approved": false })).await.end(), "success");
    assert_eq!(runs.count(), 1);
    let shown = ["u: delete both", "a: delete()", "result", "a: delete()", "result", "a: done"];
    let mut shows = client.shows();
    shows.sort();
    let mut expected = shown;
    expected.sort_unstable();
    assert_eq!(shows, expected);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_that_turns_away_dismisses_the_turn_and_may_say_something_else() {
    let tool = delete();
    let runs = tool.runs();
    let [asks, says] = deleting_script();
    let script = [asks.clone(), asks.clone(), asks, says];
    let test = Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let told = client.cancels(&interrupt).run().await;
    assert_eq!((told.end(), runs.count()), ("cancelled", 0));
    // Once more, it changes nothing.
    assert_eq!(client.cancels(&interrupt).run().await.end(), "cancelled");

    let interrupt = client.says("m2", "delete 8").run().await.interrupt();
    let instead = client.cancels(&interrupt).says("m3", "keep it").run().await;
    // A new turn has a question of its own.
    let asked = instead.interrupt();
    assert_ne!(asked["id"], interrupt["id"]);
    let late = decide_elsewhere(&test, &interrupt, "approve").await;
    assert_eq!((late.status, &late.json()["ended"]), (409, &json!("dismissed")));
    // An old interrupt dismisses no later question.
    assert_eq!(client.cancels(&interrupt).run().await.interrupt()["id"], asked["id"]);
    client.resume(&asked, json!({ "approved": true })).await;
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_text_waits_for_the_question_and_all_else_gives_it_again() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    assert_eq!(client.run().await.interrupt()["id"], interrupt["id"], "the same message");
    let mut phone = Client::new(&test, "t");
    assert_eq!(phone.run().await.interrupt()["id"], interrupt["id"], "attached");
    assert_eq!(phone.shows(), SHOWN[..3]);
    let told = phone.says("m2", "else").run().await;
    assert_eq!((told.kinds(), told.end()), (vec!["RUN_ERROR"], "interrupt_open"));
    assert_eq!(client.resume(&interrupt, json!({ "approved": true })).await.end(), "success");
    assert_eq!(runs.count(), 1);
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
async fn a_resume_of_what_was_never_asked_here_is_passed_over() {
    let (test, runs) = deleting().await;
    let mut other = Client::new(&test, "other");
    let elsewhere = other.says("m1", "delete 7").run().await.interrupt();
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let none = "0".repeat(64);
    let unknown = format!("00000000-0000-0000-0000-000000000000:{none}");
    let wrong = format!("{}:{none}", interrupt["toolCallId"].as_str().unwrap());
    for id in [elsewhere["id"].clone(), unknown.into(), wrong.into(), "call_1".into()] {
        let told = client.resume(&json!({ "id": id }), json!({ "approved": true })).await;
        assert_eq!(told.interrupt()["id"], interrupt["id"], "{id}");
    }
    assert_eq!(client.cancels(&elsewhere).run().await.interrupt()["id"], interrupt["id"]);
    assert_eq!(runs.count(), 0);
    let open = test.get("/v1/inbox").await.ok(200);
    assert_eq!(open["approval_requests"].as_array().unwrap().len(), 2);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_may_not_decide_asks_elsewhere_and_resumes_nothing() {
    let secret = TokenSecret::random().unwrap();
    let kim = TokenHolder::User(UserId::new("kim").unwrap());
    let token = TokenEntry::new("chats", kim, [TokenScope::Chat].into_iter().collect(), &secret);
    let tool = delete();
    let runs = tool.runs();
    let test = Setup::new(ScriptedModel::repeating(deleting_script()))
        .options(|options| options.token(token))
        .tool(tool)
        .start()
        .await;
    let mut client = Client::new(&test, "t");
    client.token = secret.reveal().to_owned();
    let mut events = client.says("m1", "delete 7").open().await;
    let asked = events.until_data(|event| event["name"] == "madang.approval_requested").await;
    let request = &asked.last().unwrap().data["value"];
    let id =
        format!("{}:{}", request["call"].as_str().unwrap(), request["digest"].as_str().unwrap());
    let entry = json!({ "interruptId": id, "status": "resolved", "payload": { "approved": true } });
    let refused = client.with("resume", json!([entry])).refused().await;
    assert_eq!((refused.status, &*refused.problem()), (403, "scope"));
    assert_eq!(runs.count(), 0);
    decide_elsewhere(&test, &json!({ "id": id }), "approve").await.ok(200);
    let (told, _) = events.end().await;
    assert_eq!(told.last().unwrap().data["outcome"]["type"], "success");
    assert_eq!(runs.count(), 1);
    // A client may also ask no person.
    let mut unattended = Client::new(&test, "none");
    unattended.says("m1", "delete 7").with("forwardedProps", json!({ "ask": "none" }));
    assert_eq!(unattended.run().await.result()["reason"], "unreachable");
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
async fn a_run_that_the_server_leaves_ends_with_an_error_and_the_next_server_asks_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::options(&path).open().await.unwrap();
    let (model, mut script) = model_pair();
    let mut test = Setup::over(model, store().await).start().await;
    let mut client = Client::new(&test, "t");
    let events = client.says("m1", "delete 7").open().await;
    let completion = script.next().await;
    completion.delta("half");
    let messages = client.messages.clone();
    test.stop();
    let mut client = Client::new(&test, "t");
    (client.messages, client.runs) = (messages.clone(), 1);
    assert_eq!(client.end(events).await.end(), "draining");
    test.ended().await.unwrap();

    let tool = delete();
    let runs = tool.runs();
    let test = Setup::over(ScriptedModel::repeating(deleting_script()), store().await).tool(tool);
    let test = test.start().await;
    let mut client = Client::new(&test, "t");
    client.messages = messages;
    let interrupt = client.run().await.interrupt();
    assert_eq!(client.resume(&interrupt, json!({ "approved": true })).await.end(), "success");
    assert_eq!((client.shows(), runs.count()), (SHOWN.map(str::to_owned).to_vec(), 1));
    test.shutdown().await;
}

/// The next server asks again while the decision comes: what is decided interrupts no run.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_comes_to_the_next_server_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::options(&path).open().await.unwrap();
    let [asks, done] = deleting_script();
    let test = Setup::over(ScriptedModel::new([asks]), store().await).tool(delete()).start().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let messages = std::mem::take(&mut client.messages);
    test.shutdown().await;

    let tool = delete();
    let runs = tool.runs();
    let test = Setup::over(ScriptedModel::new([done]), store().await).tool(tool).start().await;
    let mut client = Client::new(&test, "t");
    client.messages = messages;
    assert_eq!(client.resume(&interrupt, json!({ "approved": true })).await.end(), "success");
    assert_eq!((client.shows(), runs.count()), (SHOWN.map(str::to_owned).to_vec(), 1));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_that_missed_the_question_is_asked_all_the_same() {
    let (model, mut script) = model_pair();
    let mut limits = Limits::default();
    limits.max_feed_events = 1;
    let test = Setup::new(model)
        .build(|builder| builder.limits(limits))
        .limits(|limits| limits.text_pace = Duration::from_secs(1))
        .tool(FakeTool::write("breaks").end(End::Panic("it broke")))
        .tool(delete())
        .start()
        .await;
    let calls = |name: &str, arguments: &str| {
        let wanted = WantedCall::new(name, arguments);
        Completion { text: "I try.".into(), tool_calls: vec![wanted], ..Completion::default() }
    };
    let mut client = Client::new(&test, "t");
    let events = client.says("m1", "break").open().await;
    script.next().await.finish(calls("breaks", "{}"));
    script.next().await.say("It broke.");
    client.end(events).await;
    let unknown = test.get("/v1/sessions/t/unresolved").await.ok(200)["calls"][0]["call"].clone();

    let mut inbox = test.stream("/v1/inbox/events").await;
    let mut events = client.says("m2", "delete 7").open().await;
    let completion = script.next().await;
    completion.delta("I");
    let mut told = events.until_data(|event| event["type"] == "TEXT_MESSAGE_CONTENT").await;
    // While the client waits behind the first piece of text, what comes behind the question drives it out of memory.
    completion.finish(calls("delete", r#"{"id":7}"#));
    inbox.until_data(|data| data["type"] == "approval_requested").await;
    let path = format!("/v1/calls/{}/resolve", unknown.as_str().unwrap());
    test.post(&path, json!({ "effect": "none" })).await.ok(200);
    told.extend(events.end().await.0);
    let told = Told { events: told.into_iter().map(|frame| frame.data).collect() };
    client.verify(&told);
    told.events.iter().for_each(|event| client.apply(event));
    let interrupt = told.interrupt();
    let resumed = client.resume(&interrupt, json!({ "approved": true }));
    let (resumed, ()) = tokio::join!(resumed, async { script.next().await.say("done") });
    assert_eq!(resumed.end(), "success");
    assert_eq!(
        client.shows()[5..],
        ["u: delete 7", "a: I try.", "a: delete()", "result", "a: done"]
    );
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
