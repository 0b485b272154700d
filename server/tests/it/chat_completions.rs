//! Clients of OpenAI's protocol: an answer comes whole or breaks off, what is sent again joins its turn, and a loop of
//! messages is one chat.

use std::time::Duration;

use madang::{Limits, model::ModelError, store::SqliteStore};
use madang_server::MIGRATIONS;
use madang_testing::{FakeTool, Runs, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Value, json};

use crate::{
    http::{Answer, EventReader, Frame, Request, StreamEnd},
    support::{Setup, TestServer, says, until},
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

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_answer_is_whole_with_its_usage_and_its_names() {
    let test = Setup::new(says("안녕하세요")).start().await;
    let body = json!({ "model": "any", "temperature": 0.3, "messages": [user("hi")] });
    let answer = test.post(PATH, body).await;
    let whole = answer.ok(200);
    let turn = answer.header("madang-turn").unwrap();
    assert_eq!(whole["id"], format!("chatcmpl-{turn}"));
    assert_eq!((&whole["object"], &whole["model"]), (&json!("chat.completion"), &json!("any")));
    assert!(whole["created"].as_u64().unwrap() > 1_700_000_000);
    let message = json!({ "role": "assistant", "content": "안녕하세요", "refusal": null });
    let choice =
        json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" });
    assert_eq!(whole["choices"], json!([choice]));
    for count in ["prompt_tokens", "completion_tokens", "total_tokens"] {
        assert!(whole["usage"][count].is_u64(), "{count}");
    }
    assert_eq!(answer.header("madang-ignored"), Some("temperature"));
    let session = answer.header("madang-session").unwrap();
    let status = test.get(&format!("/v1/sessions/{session}/turns/{turn}")).await.ok(200);
    assert_eq!(status["ending"], "answered");
    assert_eq!(test.get("/v1/models/madang").await.ok(200)["object"], "model");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_answer_has_its_role_first_its_reason_last_and_usage_where_it_was_asked_for() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut events = open(&test, stream(&[user("hi")])).await;
    assert!(events.header("madang-session").is_some() && events.header("madang-turn").is_some());
    let completion = script.next().await;
    completion.think("음");
    completion.delta("안");
    events.until_data(|data| data["choices"][0]["delta"]["content"] == "안").await;
    completion.say("안녕");
    let (rest, end) = events.end().await;
    assert_eq!((streamed(&rest), end), ("녕".to_owned(), StreamEnd::Whole));
    let [.., last, usage, done] = &rest[..] else { panic!("{rest:#?}") };
    assert_eq!(last.data["choices"][0]["finish_reason"], "stop");
    assert_eq!(usage.data["choices"], json!([]));
    assert!(usage.data["usage"]["total_tokens"].is_u64());
    assert_eq!(done.data, "[DONE]");

    let body = json!({ "messages": [user("hi")], "stream": true });
    let mut events = open(&test, Request::post(PATH, &body)).await;
    script.next().await.say("안녕");
    let (all, _) = events.end().await;
    let first = &all[0].data;
    assert_eq!(first["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    assert_eq!(first["model"], "madang", "its own name where the client has none");
    assert_eq!(all[all.len() - 1].data, "[DONE]");
    assert!(all.iter().all(|frame| frame.data.get("usage").is_none()));
    test.shutdown().await;
}

/// Some clients read each block of lines as a chunk: they know comments, and fail at a block without data.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_nothing_but_chunks_and_comments() {
    let test = Setup::new(says("hi")).start().await;
    let mut events = open(&test, stream(&[user("a")])).await;
    let mut chunks = 0;
    while let Some(frame) = events.frame().await {
        let is_comment = |line: &String| line.starts_with(':');
        assert!(frame.other.iter().all(is_comment), "{:?}", frame.other);
        chunks += usize::from(!frame.data.is_null());
    }
    assert!(chunks > 2);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_tried_again_joins_its_turn_and_the_same_wish_anew_begins_one() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let tried = |count: &str| stream(&[user("hi")]).header("x-stainless-retry-count", count);
    let first = open(&test, tried("0")).await;
    let turn = first.header("madang-turn").unwrap().to_owned();
    let completion = script.next().await;
    drop(first);
    let mut second = open(&test, tried("1")).await;
    assert_eq!(second.header("madang-turn"), Some(&*turn), "it runs");
    completion.say("once");
    let (told, end) = second.end().await;
    assert_eq!((streamed(&told), end), ("once".to_owned(), StreamEnd::Whole));
    let mut third = open(&test, tried("2")).await;
    assert_eq!(third.header("madang-turn"), Some(&*turn), "it has ended");
    assert_eq!(streamed(&third.end().await.0), "once");
    assert!(script.try_next().is_none(), "the model was asked once");

    // A client that regenerates sends the same, and counts from 0.
    let again = open(&test, tried("0")).await;
    assert_ne!(again.header("madang-turn"), Some(&*turn));
    script.next().await.say("twice");
    // The first try of this one never came.
    let lost = open(&test, stream(&[user("lost")]).header("x-stainless-retry-count", "1")).await;
    assert_ne!(lost.header("madang-turn"), Some(&*turn));
    script.next().await.say("found");
    // Another user's try is another.
    let lees = tried("1").bearer(test.lee.reveal()).stream(test.address).await;
    assert_ne!(lees.header("madang-turn"), Some(&*turn));
    script.next().await.say("lee's");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_a_key_is_one_turn_and_another_text_is_refused() {
    let test = Setup::new(says("once")).start().await;
    let keyed = |text: &str| ask(&[user(text)]).header("idempotency-key", "\"k\"");
    let first = test.send(keyed("hi")).await;
    let second = test.send(keyed("hi")).await;
    assert_eq!(first.ok(200), second.ok(200));
    assert_eq!(chats(&test).await, 1);
    let other = test.send(keyed("other")).await;
    assert_eq!((other.status, &*other.problem()), (422, "key-reused"));
    assert_eq!(other.header("x-should-retry"), Some("false"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_of_five_messages_is_one_chat() {
    let tool = FakeTool::write("log");
    let script = [
        ScriptedCompletion::call("log", &json!({})).saying("I log it."),
        ScriptedCompletion::text("Logged.\n"),
    ];
    let test = Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await;
    let mut messages = vec![json!({ "role": "system", "content": "Be brief." })];
    let mut known = None;
    for number in 0..5 {
        messages.push(user(&format!("day {number}")));
        let (text, chat) = say(&test, &messages).await;
        assert_eq!(text.trim_end(), "I log it.\n\nLogged.");
        assert_eq!(*known.get_or_insert(chat.clone()), chat, "message {number}");
        messages.push(assistant(text.trim_end())); // as clients trim it
    }
    assert_eq!(chats(&test).await, 1);
    let calls = test.get("/v1/ledger").await.ok(200);
    assert_eq!(calls["calls"].as_array().unwrap().len(), 5, "one ledger has all");
    // The same words of another user are another chat.
    let lees = ask(&messages[..2]).bearer(test.lee.reveal()).send(test.address).await;
    assert_ne!(lees.header("madang-session"), known.as_deref());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_history_branches_into_a_chat_of_its_own_and_stays_there() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut answer = async |request: Request, text: &str| {
        let sent = test.send(request);
        let says = async { script.next().await };
        let (answer, seen) = tokio::join!(sent, async {
            let completion = says.await;
            let seen = completion.request().messages.len();
            completion.say(text);
            seen
        });
        (answer.header("madang-session").unwrap().to_owned(), seen)
    };
    let in_chat = |messages: &[Value]| ask(messages).header("x-conversation-id", "page-1");
    let (named, _) = answer(in_chat(&[user("a")]), "1").await;
    assert_eq!(named, "page-1");
    let (same, seen) = answer(in_chat(&[user("a"), assistant("1"), user("b")]), "2").await;
    assert_eq!((&*same, seen), ("page-1", 3));
    let mut edited = vec![user("a"), assistant("another"), user("c")];
    let (branch, seen) = answer(in_chat(&edited), "3").await;
    assert_ne!(branch, "page-1");
    assert_eq!(seen, 3, "the model reads the client's history");
    edited.extend([assistant("3"), user("d")]);
    let (again, seen) = answer(in_chat(&edited), "4").await;
    assert_eq!((&again, seen), (&branch, 5), "the branch goes on");
    let named = test.get("/v1/sessions/page-1").await.ok(200);
    assert_eq!(named["messages"].as_array().unwrap().len(), 4, "it is left as it was");
    // Its first text alone is edited, too: such a client sends its whole history.
    let (another, seen) = answer(in_chat(&[user("e")]), "5").await;
    assert_eq!((another == "page-1", seen), (false, 1));
    // A client of ours may leave the history to the server.
    let ours = ask(&[user("e")]).header("madang-session", "page-1");
    let (same, seen) = answer(ours, "6").await;
    assert_eq!((&*same, seen), ("page-1", 5));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_named_by_a_header_or_in_the_metadata_and_anothers_is_not_there() {
    let test = Setup::new(says("a")).start().await;
    let body = |name: &str| json!({ "messages": [user("hi")], "metadata": { "session": name } });
    for (header, name) in [
        ("madang-session", "mine"),
        ("x-openwebui-chat-id", "webui"),
        ("x-conversation-id", "page"),
    ] {
        let request = Request::post(PATH, &body("other")).header(header, name);
        let answer = test.send(request).await;
        assert_eq!((answer.status, answer.header("madang-session")), (200, Some(name)));
    }
    let answer = test.post(PATH, body("meta")).await;
    assert_eq!((answer.status, answer.header("madang-session")), (200, Some("meta")));
    let lees = Request::post(PATH, &body("meta")).bearer(test.lee.reveal());
    let lees = lees.send(test.address).await;
    assert_eq!((lees.status, &*lees.problem()), (404, "not-found"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_this_server_does_not_offer_is_refused_with_its_name_and_begins_nothing() {
    let test = Setup::new(says("a")).start().await;
    let tool = json!({ "type": "function", "function": { "name": "f" } });
    for (extra, param) in [
        (json!({ "tools": [tool] }), "tools"),
        (json!({ "n": 2 }), "n"),
        (json!({ "response_format": { "type": "json_object" } }), "response_format"),
    ] {
        let mut body = json!({ "messages": [user("hi")], "stream": true });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let refused = test.post(PATH, body).await;
        assert_eq!((refused.status, &*refused.problem()), (400, "unsupported-parameter"));
        let error = &refused.json()["error"];
        assert_eq!(
            (&error["param"], &error["type"]),
            (&json!(param), &json!("invalid_request_error"))
        );
        assert!(error["message"].as_str().unwrap().contains(param));
        assert_eq!(refused.header("content-type"), Some("application/json"));
        assert_eq!(refused.header("x-should-retry"), Some("false"));
    }
    assert_eq!(chats(&test).await, 0);
    let unused = json!({ "messages": [user("hi")], "tools": [tool], "tool_choice": "none" });
    test.post(PATH, unused).await.ok(200);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_in_mid_stream_is_told_and_the_body_breaks_off() {
    let failing = ScriptedCompletion::error("ConnectionLost").saying("half an ans");
    let test = Setup::new(ScriptedModel::repeating([failing])).start().await;
    let mut events = open(&test, stream(&[user("hi")])).await;
    let (told, end) = events.end().await;
    assert_eq!(end, StreamEnd::BrokenOff, "a clean end would look like a whole answer");
    assert_eq!(streamed(&told), "half an ans");
    let error = &told.last().unwrap().data["error"];
    assert_eq!(
        (&error["code"], &error["type"]),
        (&json!("ConnectionLost"), &json!("server_error"))
    );
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(told.iter().all(|frame| frame.data["choices"][0]["finish_reason"].is_null()));
    let plain = test.send(ask(&[user("hi")])).await;
    assert_eq!((plain.status, &*plain.problem()), (502, "ConnectionLost"));
    assert!(plain.header("madang-turn").is_some());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_at_once_says_how_long_to_wait() {
    let (model, mut script) = model_pair();
    let mut limits = Limits::default();
    limits.max_running_turns_per_user = 1;
    let test = Setup::new(model).build(|builder| builder.limits(limits)).start().await;
    let mut running = open(&test, stream(&[user("hi")])).await;
    let waits = |answer: &Answer, status: u16| {
        assert_eq!(answer.status, status, "{}", answer.text());
        let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds));
        assert!(answer.header("retry-after-ms").is_some());
        assert_eq!(answer.header("x-should-retry"), None, "the client tries again by itself");
    };
    let full = test.send(ask(&[user("me too")])).await;
    waits(&full, 429);
    assert_eq!(full.json()["error"]["type"], "rate_limit_error");
    assert_eq!(full.problem(), "too-many");
    let session = running.header("madang-session").unwrap().to_owned();
    let busy = ask(&[user("and this")]).header("madang-session", &session);
    let busy = test.send(busy).await;
    waits(&busy, 409);
    assert_eq!(busy.header("madang-turn"), running.header("madang-turn"), "which turn runs");
    script.next().await.say("done");
    running.end().await;
    let later = test.send(ask(&[user("me too")]).header("x-stainless-retry-count", "1"));
    let (later, ()) = tokio::join!(later, async { script.next().await.say("now") });
    assert_eq!(said(&later), "now");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_overloaded_is_a_429() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let sent = test.send(ask(&[user("hi")]));
    let (answer, ()) =
        tokio::join!(sent, async { script.next().await.fail(ModelError::OVERLOADED) });
    assert_eq!((answer.status, &*answer.problem()), (429, "too-many"), "{}", answer.text());
    assert!(answer.header("retry-after").is_some());
    test.shutdown().await;
}

/// The answer says after which time to come again, and a client that does so is answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_begins_anew_where_the_model_was_too_busy_and_nothing_was_done() {
    let overloaded = || ScriptedCompletion::error(ModelError::OVERLOADED);
    let script = [
        overloaded(),
        ScriptedCompletion::text("now"),
        ScriptedCompletion::call("look", &json!({})),
        overloaded(),
        overloaded(),
    ];
    let tool = FakeTool::write("look");
    let runs = tool.runs();
    let test = Setup::new(ScriptedModel::new(script)).tool(tool).start().await;
    let tries = async |text: &str, count: u32| {
        let request = ask(&[user(text)]).header("x-stainless-retry-count", &count.to_string());
        let answer = test.send(request).await;
        (answer.status, answer.header("madang-turn").unwrap().to_owned())
    };
    let (first, again) = (tries("hi", 0).await, tries("hi", 1).await);
    assert_eq!((first.0, again.0), (429, 200));
    assert_ne!(first.1, again.1);
    assert_eq!(tries("hi", 2).await, again, "the next retry joins the turn that was begun");

    let (first, again) = (tries("look", 0).await, tries("look", 1).await);
    assert_eq!((first.0, &first), (429, &again), "what was done is not done again");
    assert_eq!(runs.count(), 1);

    let keyed = || ask(&[user("keyed")]).header("idempotency-key", "\"k\"");
    let (first, again) = (test.send(keyed()).await, test.send(keyed()).await);
    assert_eq!(first.header("madang-turn"), again.header("madang-turn"), "a key is one turn");
    test.shutdown().await;
}

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

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_is_too_long_is_taken_over_from_its_newest_part_and_a_body_is_refused() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model)
        .limits(|limits| (limits.max_import_messages, limits.max_history_body_bytes) = (4, 10_000))
        .start()
        .await;
    let mut messages: Vec<_> =
        (0..10).flat_map(|n| [user(&format!("u{n}")), assistant(&format!("a{n}"))]).collect();
    messages.push(user("now"));
    let (answer, seen) = tokio::join!(test.send(ask(&messages)), async {
        let completion = script.next().await;
        let seen = completion.request().messages.len();
        completion.say("yes");
        seen
    });
    assert_eq!((said(&answer), seen), ("yes".to_owned(), 5));
    test.shutdown().await;

    let (model, mut script) = model_pair();
    let test = Setup::new(model)
        .limits(|limits| (limits.max_import_bytes, limits.max_history_body_bytes) = (8, 10_000))
        .start()
        .await;
    let (answer, seen) = tokio::join!(test.send(ask(&messages)), async {
        let completion = script.next().await;
        let seen = completion.request().messages.len();
        completion.say("yes");
        seen
    });
    assert_eq!((said(&answer), seen), ("yes".to_owned(), 5), "eight bytes are four texts");
    let long = test.send(ask(&[user(&"x".repeat(10_000))])).await;
    assert_eq!((long.status, &*long.problem()), (413, "too-long"));
    assert_eq!(long.header("x-should-retry"), Some("false"));
    let text = Limits::default().max_user_text_bytes;
    test.shutdown().await;

    let test = Setup::new(says("a")).start().await;
    let long = test.send(ask(&[user(&"x".repeat(text + 1))])).await;
    assert_eq!((long.status, &*long.problem()), (413, "too-long"), "a text is no history");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_the_server_leaves_breaks_off_and_never_looks_complete() {
    let (model, mut script) = model_pair();
    let mut test = Setup::new(model).start().await;
    let mut events = open(&test, stream(&[user("hi")])).await;
    let completion = script.next().await;
    completion.delta("half");
    events.until_data(|data| data["choices"][0]["delta"]["content"] == "half").await;
    test.stop();
    let (told, end) = events.end().await;
    assert_eq!(end, StreamEnd::BrokenOff);
    assert_eq!(told.last().unwrap().data["error"]["code"], "draining");
    test.ended().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_and_a_try_are_remembered_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || {
        let options = SqliteStore::options(&path).migrations("server", &MIGRATIONS);
        options.open().await.unwrap()
    };
    let (model, mut script) = model_pair();
    let mut test = Setup::over(model, store().await).remembering().start().await;
    let (first, ()) = tokio::join!(test.send(ask(&[user("hi")])), async {
        script.next().await.say("hello");
    });
    let chat = first.header("madang-session").unwrap().to_owned();
    let next = [user("hi"), assistant("hello"), user("and?")];
    let tried = |count: &str| ask(&next).header("x-stainless-retry-count", count);
    let (address, token) = (test.address, test.kim.reveal().to_owned());
    let begun = tried("0").bearer(&token).send(address);
    let begun = tokio::spawn(begun);
    let completion = script.next().await;
    test.stop();
    let cut = begun.await.unwrap();
    assert_eq!((cut.status, &*cut.problem()), (503, "draining"));
    let turn = cut.header("madang-turn").unwrap();
    test.ended().await.unwrap();
    drop(completion);

    let test = Setup::over(says("again"), store().await).remembering().start().await;
    let joined = test.send(tried("1")).await;
    assert_eq!((said(&joined), joined.header("madang-turn")), ("again".to_owned(), Some(turn)));
    assert_eq!(joined.header("madang-session"), Some(&*chat));
    let more = [&next[..], &[assistant("again"), user("more")]].concat();
    assert_eq!(say(&test, &more).await.1, chat);
    assert_eq!(chats(&test).await, 1);
    test.shutdown().await;
}
