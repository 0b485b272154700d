//! Lists of questions, of standing approvals and of unknown effects are told in pages of bytes, and
//! nothing is lost.

use madang_testing::{End, FakeTool, ScriptedModel};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    http::Request,
    support::{Setup, TestServer, until},
};

/// The tools of a test: more than an answer has room for.
const TOOLS: usize = 6;
/// Two calls with the arguments below fit, and no third.
const PAGE: usize = 5_000;

fn name(number: usize) -> String {
    format!("tool{number}")
}

fn body(session: &str) -> Value {
    json!({ "arguments": { "text": "x".repeat(1_000) }, "session": session })
}

async fn start(tool: impl Fn(&str) -> FakeTool) -> TestServer {
    let setup = Setup::new(ScriptedModel::new([]))
        .limits(|limits| (limits.max_page_bytes, limits.request_burst) = (PAGE, 10_000));
    let any = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let setup = (0..TOOLS)
        .fold(setup, |setup, number| setup.tool(tool(&name(number)).parameters(any.clone())));
    let test = setup.start().await;
    test.open("s").await;
    test
}

/// Begins a call of a tool in a session, which asks a person.
fn ask(test: &TestServer, number: usize, session: &str) -> JoinHandle<u16> {
    let path = format!("/v1/tools/{}/calls", name(number));
    let request = Request::post(&path, &body(session)).bearer(test.kim.reveal());
    let address = test.address;
    tokio::spawn(async move { request.send(address).await.status })
}

async fn decide(test: &TestServer, request: &Value, decision: &str) {
    let path = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
    let answer = json!({ "decision": decision, "digest": request["digest"] });
    test.post(&path, answer).await.ok(200);
}

/// Reads a list page by page.
async fn read(test: &TestServer, path: &str, list: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut pages = 0;
    let mut next = path.to_owned();
    loop {
        let page = test.get(&next).await.ok(200);
        assert!(page.to_string().len() <= PAGE + 200, "{path}: {}", page.to_string().len());
        pages += 1;
        found.extend(page[list].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(behind) => next = format!("{path}?after={behind}"),
            None => break,
        }
    }
    assert!(pages > 1, "{path} has one page");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn open_questions_come_in_pages_and_a_stream_begins_with_one() {
    let test = start(FakeTool::destructive).await;
    let mut calls = Vec::new();
    for number in 0..TOOLS {
        test.open(&name(number)).await;
        calls.push(ask(&test, number, &name(number)));
    }
    until(async || test.get("/v1/inbox").await.ok(200)["next"].is_string()).await;
    until(async || read(&test, "/v1/inbox", "approval_requests").await.len() == TOOLS).await;
    let listed = read(&test, "/v1/inbox", "approval_requests").await;
    let wrong = test.get("/v1/inbox?after=soon").await;
    assert_eq!((wrong.status, &*wrong.problem()), (422, "unknown-value"));

    let mut inbox = test.stream("/v1/inbox/events").await;
    let snapshot = inbox.until("snapshot").await.pop().unwrap().data;
    assert!(snapshot.to_string().len() <= PAGE + 200, "{}", snapshot.to_string().len());
    let mut told = snapshot["approval_requests"].as_array().unwrap().clone();
    while told.len() < TOOLS {
        told.push(inbox.until("approval_requested").await.pop().unwrap().data);
    }
    let ids = |requests: &[Value]| -> Vec<Value> {
        requests.iter().map(|request| request["call"].clone()).collect()
    };
    assert_eq!(ids(&told), ids(&listed));
    for request in &listed {
        decide(&test, request, "deny").await;
    }
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn standing_approvals_come_in_pages() {
    let test = start(FakeTool::destructive).await;
    let mut inbox = test.stream("/v1/inbox/events").await;
    for number in 0..TOOLS {
        let call = ask(&test, number, "s");
        let request = inbox.until("approval_requested").await.pop().unwrap().data;
        decide(&test, &request, "approve_always").await;
        assert_eq!(call.await.unwrap(), 200);
    }
    let standing = "/v1/sessions/s/standing-approvals";
    let tools = read(&test, standing, "standing_approvals").await;
    let tools: Vec<_> = tools.iter().map(|one| one["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, (0..TOOLS).map(name).collect::<Vec<_>>());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_effects_come_in_pages_in_the_order_of_their_calls() {
    let test = start(|name| FakeTool::write(name).end(End::Panic("lost"))).await;
    for number in 0..TOOLS {
        test.post(&format!("/v1/tools/{}/calls", name(number)), body("s")).await.ok(200);
    }
    let calls = read(&test, "/v1/sessions/s/unresolved", "calls").await;
    let names: Vec<_> = calls.iter().map(|call| call["name"].as_str().unwrap()).collect();
    assert_eq!(names, (0..TOOLS).map(name).collect::<Vec<_>>());
    let foreign = test.post("/v1/tools/tool0/calls", json!({})).await.ok(200)["call"].clone();
    let after = format!("/v1/sessions/s/unresolved?after={}", foreign.as_str().unwrap());
    assert_eq!(test.get(&after).await.status, 422, "a call of another session");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_sentences_of_a_program_are_listed_by_language() {
    let setup = Setup::new(ScriptedModel::new([]));
    let many = (0..9).map(|number| format!("Say {number}"));
    let setup = setup
        .options(|options| options.suggestions("ko", ["내 습관 보여 줘"]).suggestions("en", many));
    let test = setup.start().await;
    let found = test.get("/v1/suggestions").await.ok(200);
    assert_eq!(found["suggestions"]["ko"], json!(["내 습관 보여 줘"]));
    assert_eq!(found["suggestions"]["en"].as_array().unwrap().len(), 8);
    test.shutdown().await;
    let without = Setup::new(ScriptedModel::new([])).start().await;
    assert_eq!(without.get("/v1/suggestions").await.ok(200), json!({ "suggestions": {} }));
    without.shutdown().await;
}
