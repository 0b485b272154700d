//! MCP clients call tools: each for the user of its credential, once under a key, and within
//! bounds.

use madang::UserId;
use madang_server::{TokenEntry, TokenHolder, TokenScope, TokenScopes, TokenSecret};
use madang_testing::{FakeTool, Gate, ScriptedModel};
use serde_json::{Value, json};

use crate::{
    http::Request,
    mcp_client::{
        NEWEST, Session, call, called, code, forms, message, messages, modern, nothing, result,
        setup, until_result,
    },
    support::{Setup, TestServer, until},
};

/// The ledger of a user, as its own token reads it.
pub(crate) async fn ledger(test: &TestServer, token: &str) -> Vec<Value> {
    let rows = Request::get("/v1/ledger").bearer(token).send(test.address).await.ok(200);
    rows["calls"].as_array().cloned().unwrap_or_else(|| panic!("{rows}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_each_kind_lists_and_calls_for_the_user_of_its_token() {
    let (setup, _) = setup();
    let test = setup.start().await;
    let list = test.send(modern("tools/list", json!({}), &nothing())).await;
    let names = |list: &Value| -> Vec<_> {
        let tools = list["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&result(&list)), ["remove", "write"]);
    assert_eq!(list.header("cache-control"), Some("no-store, no-transform"));
    let called = test.send(call("write", &nothing())).await;
    assert_eq!(result(&called)["structuredContent"], json!({ "what": "it" }), "{called:?}");
    let lee = test.lee.reveal();
    let session = Session::begin(&test, lee, &nothing()).await;
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(names(&result(&session.post(&list).send(test.address).await)), ["remove", "write"]);
    let called = session.call(3, "write").send(test.address).await;
    assert_eq!(result(&called)["structuredContent"], json!({ "what": "it" }));
    for (token, count) in [(test.kim.reveal(), 1), (lee, 1)] {
        assert_eq!(ledger(&test, token).await.len(), count);
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_without_the_scope_and_a_service_that_names_no_user_call_nothing() {
    let chat = TokenSecret::random().unwrap();
    let service = TokenSecret::random().unwrap();
    let holder = TokenHolder::User(UserId::new("kim").unwrap());
    let scopes: TokenScopes = [TokenScope::Chat, TokenScope::Decide].into_iter().collect();
    let prefix = TokenHolder::service(madang_server::ServicePrefix::new("web").unwrap());
    let of_service: TokenScopes = [TokenScope::Chat, TokenScope::Tools].into_iter().collect();
    let (setup, _) = setup();
    let test = setup
        .options(|options| {
            options
                .token(TokenEntry::new("chat", holder, scopes, &chat))
                .token(TokenEntry::new("web", prefix, of_service, &service))
        })
        .start()
        .await;
    let refused = call("write", &nothing()).bearer(chat.reveal()).send(test.address).await;
    assert_eq!((refused.status, &*refused.problem()), (403, "scope"));
    let refused = call("write", &nothing()).send(test.address).await;
    assert_eq!((refused.status, &*refused.problem()), (401, "unauthorized"));
    let refused = call("write", &nothing()).bearer(service.reveal()).send(test.address).await;
    assert_eq!((refused.status, &*refused.problem()), (400, "malformed"));
    let foreign = call("write", &nothing()).header("origin", "https://evil.example");
    let foreign = test.send(foreign).await;
    assert_eq!((foreign.status, &*foreign.problem()), (403, "origin"));
    assert!(ledger(&test, test.kim.reveal()).await.is_empty());
    let acts = call("write", &nothing()).bearer(service.reveal()).header("madang-user", "ann");
    assert_eq!(result(&acts.send(test.address).await)["structuredContent"]["what"], "it");
    let own = Request::get("/v1/ledger").bearer(service.reveal()).header("madang-user", "ann");
    assert_eq!(own.send(test.address).await.ok(200)["calls"].as_array().unwrap().len(), 1);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_key_runs_once() {
    let write = FakeTool::write("write");
    let runs = write.runs();
    let test = Setup::new(ScriptedModel::new([])).tool(write).start().await;
    let mut params = called("write");
    params["_meta"]["io.madang/idempotencyKey"] = json!("k");
    let session = Session::begin(&test, test.kim.reveal(), &nothing()).await;
    let first = result(&test.send(modern("tools/call", params.clone(), &nothing())).await);
    let mut second = result(&test.send(modern("tools/call", params.clone(), &nothing())).await);
    assert_eq!(first, second);
    let older = session.call_with(1, &params).send(test.address).await;
    second.as_object_mut().unwrap().remove("resultType"); // older ones do not have it
    assert_eq!(result(&older), second, "the key is the user's, whatever the revision");
    assert_eq!(runs.count(), 1);
    params["arguments"]["what"] = json!("other");
    let other = test.send(modern("tools/call", params, &nothing())).await;
    assert_eq!(code(&other), -32_602);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_of_the_protocol_is_refused() {
    let (setup, _) = setup();
    let test = setup.limits(|limits| limits.max_mcp_body_bytes = 2_000).start().await;
    let json = "application/json, text/event-stream";
    let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "x": "x".repeat(2_000) });
    for (request, status) in [
        (Request::post("/mcp", &long).header("accept", json), 413),
        (Request::post("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })), 406),
        (
            Request::new("POST", "/mcp")
                .header("accept", json)
                .header("content-type", "text/plain")
                .body("{}"),
            415,
        ),
        (Request::get("/mcp"), 406),
        (Request::get("/mcp").header("accept", "text/event-stream"), 400),
        (Request::new("DELETE", "/mcp"), 400),
        (Request::new("PUT", "/mcp"), 405),
        (
            Request::get("/mcp")
                .header("accept", "text/event-stream")
                .header("mcp-protocol-version", NEWEST),
            405,
        ),
    ] {
        let answer = test.send(request.clone()).await;
        assert_eq!(answer.status, status, "{request:?}: {}", answer.text());
    }
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for request in
        [Request::post("/mcp", &ping), Request::get("/mcp"), Request::new("DELETE", "/mcp")]
    {
        let request = request.header("accept", "*/*").header("mcp-session-id", "of-nobody");
        let answer = test.send(request.clone()).await;
        assert_eq!(answer.status, 404, "{request:?}: {}", answer.text());
    }
    for (body, expected) in [
        ("[", -32_700),
        ("[1]", -32_600),
        (r#"{"method":"tools/call"}"#, -32_600),
        ("\"canary\"", -32_600),
        ("canary", -32_700),
    ] {
        let request = Request::new("POST", "/mcp").header("accept", json).body(body);
        let answer = test.send(request.header("content-type", "application/json")).await;
        assert_eq!((answer.status, code(&answer)), (400, expected), "{body}");
        assert!(!answer.text().contains("canary"), "{}", answer.text());
    }
    let unknown = test.send(call("nothing", &nothing())).await;
    assert_eq!(code(&unknown), -32_602);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_begins_before_its_end_and_a_client_that_leaves_ends_no_running_handler() {
    let gate = Gate::new();
    let slow = FakeTool::write("slow").gate(&gate);
    let runs = slow.runs();
    let test = Setup::new(ScriptedModel::new([]))
        .tool(slow)
        .limits(|limits| limits.mcp_head_patience = std::time::Duration::from_millis(20))
        .start()
        .await;
    let token = test.kim.reveal();
    let mut waits = call("slow", &nothing()).bearer(token).stream(test.address).await;
    gate.arrived(1).await;
    gate.release();
    assert_eq!(until_result(&mut waits).await["structuredContent"], json!({ "what": "it" }));
    waits.end().await;

    let leaves = call("slow", &nothing()).bearer(token).stream(test.address).await;
    gate.arrived(2).await;
    drop(leaves);
    gate.release();
    until(async || ledger(&test, token).await.iter().all(|row| row["effect"] == "committed")).await;
    assert_eq!(runs.count(), 2);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_begins_no_call_and_cuts_no_answer_off() {
    let gate = Gate::new();
    let test = Setup::new(ScriptedModel::new([])).tool(FakeTool::write("slow").gate(&gate));
    let mut test = test.tool(FakeTool::destructive("remove")).start().await;
    let token = test.kim.reveal().to_owned();
    let session = Session::begin(&test, &token, &forms()).await;
    let mut alone = session.stream().stream(test.address).await;
    let mut older = session.call(1, "slow").stream(test.address).await;
    let mut asks = session.call(2, "remove").stream(test.address).await;
    crate::mcp_client::until_method(&mut asks, "elicitation/create").await;
    let newest = tokio::spawn(call("slow", &nothing()).bearer(&token).send(test.address));
    gate.arrived(2).await;
    test.stop();
    until(async || test.get("/readyz").await.status == 503).await;
    let refused = test.send(call("slow", &nothing())).await;
    assert_eq!((refused.status, &*refused.problem()), (503, "draining"));
    let refused = session.call(3, "slow").send(test.address).await;
    assert_eq!((refused.status, &*refused.problem()), (503, "draining"));
    assert!(session.ping().send(test.address).await.status == 200, "what begins nothing goes on");
    gate.open();
    for told in [until_result(&mut older).await, result(&newest.await.unwrap())] {
        let text = told["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(r#""effect":"committed""#), "{told}");
    }
    asks.end().await;
    alone.end().await;
    let began = tokio::time::Instant::now();
    test.ended().await.unwrap();
    assert!(began.elapsed() < std::time::Duration::from_secs(4), "no stream holds up the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_loses_its_connection_and_its_permit() {
    let test = Setup::new(ScriptedModel::new([]))
        .tool(FakeTool::write("write"))
        .limits(|limits| {
            limits.max_streams_per_user = 1;
            limits.stall_timeout = std::time::Duration::from_millis(200);
        })
        .start()
        .await;
    let mut params = called("write");
    params["arguments"]["what"] = "x".repeat(1_000_000).into();
    let long = modern("tools/call", params, &nothing()).bearer(test.kim.reveal());
    let _unread = long.unread(test.address).await;
    let full = test.send(call("write", &nothing())).await;
    assert_eq!((full.status, &*full.problem()), (429, "too-many"));
    until(async || test.send(call("write", &nothing())).await.status == 200).await;
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_to_those_who_ask_for_it() {
    let (setup, runs) = setup();
    let test = setup.start().await;
    let mut params = called("remove");
    params["_meta"]["progressToken"] = json!("p");
    let request = modern("tools/call", params, &nothing()).header("madang-ask", "elsewhere");
    let mut waits = request.bearer(test.kim.reveal()).stream(test.address).await;
    let told = crate::mcp_client::until_method(&mut waits, "notifications/progress").await;
    assert_eq!(told["params"]["progressToken"], "p");
    crate::mcp_asks::decide(&test, "approve").await;
    assert_eq!(until_result(&mut waits).await["structuredContent"], json!({ "what": "it" }));
    assert_eq!(runs.count(), 1);
    let quiet = test.send(call("write", &nothing())).await;
    assert_eq!(messages(&quiet), [message(&quiet)], "nothing but the answer");
    test.shutdown().await;
}
