//! Each bound of the server is reached once, and says so.

use std::time::Duration;

use madang_server::{Listener, ServeError, Server, ServerOptions};
use madang_testing::{End, FakeTool, Gate, ScriptedModel, model_pair};
use serde_json::json;
use tokio::{net::TcpListener, time::timeout};

use crate::{
    http::{Connection, PATIENCE, Request},
    support::{Setup, says, until},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_without_a_permit_is_told_so_and_has_one_later() {
    let test = Setup::new(says("a")).limits(|limits| limits.max_connections = 1).start().await;
    let reader = test.stream("/v1/inbox/events").await;
    let refused = Request::get("/healthz").send(test.address).await;
    assert_eq!((refused.status, &*refused.problem()), (503, "overloaded"));
    assert_eq!(
        (refused.json()["bound"].as_str(), refused.header("connection")),
        (Some("connections"), Some("close"))
    );
    drop(reader);
    until(async || Request::get("/healthz").send(test.address).await.status == 200).await;
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_without_a_caller_shut_no_caller_out() {
    let test = Setup::new(says("a"))
        // No clock ends one before the bound does.
        .limits(|limits| (limits.max_connections, limits.head_timeout) = (4, 10 * PATIENCE))
        .start()
        .await;
    let mut reader = test.stream("/v1/inbox/events").await;
    let login = format!(
        "POST /v1/login HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{{",
        test.address
    );
    let mut idle = Vec::new();
    for sent in ["", "GET /healthz HTT", &*login, "", "GET / HT", &*login] {
        let mut connection = Connection::open(test.address).await;
        connection.write(sent.as_bytes()).await;
        idle.push(connection);
    }
    for _ in 0..9 {
        // The connection before may not have ended yet, and has a caller until then.
        let served = async { while test.get("/v1/me").await.status != 200 {} };
        timeout(PATIENCE, served).await.expect("no caller is shut out");
    }
    idle.remove(0).rest().await; // the oldest one has ended
    test.open("s").await;
    assert_eq!(reader.until("snapshot").await.len(), 1, "who has a caller stays");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_too_many_connections_without_a_caller_the_oldest_ends() {
    let test = Setup::new(says("a"))
        // No clock ends it before the bound does.
        .limits(|limits| (limits.max_idle_connections, limits.head_timeout) = (2, 10 * PATIENCE))
        .start()
        .await;
    let mut reader = test.stream("/v1/inbox/events").await;
    let mut idle = Vec::new();
    for sent in ["GET /healthz HTT", "", ""] {
        let mut connection = Connection::open(test.address).await;
        connection.write(sent.as_bytes()).await;
        idle.push(connection);
    }
    idle.remove(0).rest().await;
    test.open("s").await;
    assert_eq!(reader.until("snapshot").await.len(), 1, "who has a caller stays");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_have_a_bound_for_a_user_and_for_all() {
    let test = Setup::new(says("a"))
        .limits(|limits| (limits.max_streams, limits.max_streams_per_user) = (3, 2))
        .start()
        .await;
    test.open("s").await;
    let streams =
        [test.stream("/v1/sessions/s/events").await, test.stream("/v1/inbox/events").await];
    let full = test.get("/v1/sessions/s/events").await;
    assert_eq!((full.status, &*full.problem()), (429, "too-many"));
    let turn = Request::post("/v1/sessions/s/turns", &json!({ "text": "hi" }));
    let turn = test.send(turn.header("accept", "text/event-stream")).await;
    assert_eq!(turn.status, 429);
    let state = test.get("/v1/sessions/s").await.ok(200);
    assert_eq!(state["messages"], json!([]), "a refusal begins nothing");
    let parts = json!([{ "type": "text", "text": "hi" }]);
    let said = json!([{ "id": "m", "role": "user", "content": "hi", "parts": parts }]);
    for (path, body) in [
        ("/v1/chat/completions", json!({ "messages": said, "stream": true })),
        ("/ag-ui", json!({ "threadId": "t", "runId": "r", "messages": said })),
        ("/api/chat", json!({ "id": "t", "messages": said })),
    ] {
        let full = test.post(path, body).await;
        assert_eq!((full.status, &*full.problem()), (429, "too-many"), "{path}");
        assert!(full.header("retry-after").is_some(), "{path}");
    }
    assert_eq!(test.get("/v1/sessions/t").await.status, 404, "nor a chat");
    let lee = test.lee.reveal();
    let of_lee = |path: &str| Request::get(path).bearer(lee);
    let _third = of_lee("/v1/inbox/events").stream(test.address).await;
    let full = of_lee("/v1/inbox/events").send(test.address).await;
    assert_eq!((full.status, &*full.problem()), (503, "overloaded"));
    drop(streams);
    until(async || {
        let mut connection = Connection::open(test.address).await;
        let head = format!(
            "GET /v1/inbox/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {lee}\r\n\r\n",
            test.address
        );
        connection.write(head.as_bytes()).await;
        connection.head().await.0 == 200
    })
    .await;
    test.shutdown().await;
}

/// Each value costs far more memory than its two bytes.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_has_a_bound_in_values_on_every_surface() {
    let test = Setup::new(says("a")).limits(|limits| limits.max_body_values = 100).start().await;
    let many = json!({ "id": "t", "messages": [], "ignored": vec![0; 100] });
    for path in ["/v1/chat/completions", "/ag-ui", "/api/chat", "/v1/sessions"] {
        let refused = test.post(path, many.clone()).await;
        assert_eq!((refused.status, &*refused.problem()), (413, "too-long"), "{path}");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_takes_a_token_and_no_more() {
    let test = Setup::new(says("a")).start().await;
    let long = json!({ "token": "a".repeat(1_024) });
    let refused = Request::post("/v1/login", &long).send(test.address).await;
    assert_eq!((refused.status, &*refused.problem()), (413, "too-long"));
    let login = json!({ "token": test.kim.reveal() });
    assert_eq!(Request::post("/v1/login", &login).send(test.address).await.status, 200);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_has_a_bound_in_bytes_and_in_fields() {
    let test = Setup::new(says("a")).start().await;
    let long = Request::get("/healthz").header("x-long", &"x".repeat(17 * 1024));
    assert_eq!(long.send(test.address).await.status, 431);
    let mut many = Request::get("/healthz");
    for number in 0..70 {
        many = many.header(&format!("x-{number}"), "x");
    }
    assert_eq!(many.send(test.address).await.status, 431);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_short_and_lead_to_the_end() {
    let test = Setup::new(says("a"))
        .tool(FakeTool::read("look"))
        .limits(|limits| limits.max_page = 2)
        .start()
        .await;
    for session in ["a", "b", "c"] {
        test.open(session).await;
        test.say(session, session).await;
        test.post("/v1/tools/look/calls", json!({})).await.ok(200);
    }
    let walk = async |path: &str, position: &str, list: &str| {
        let mut found = 0;
        let mut next = String::new();
        loop {
            let page = test.get(&format!("{path}?{next}")).await.ok(200);
            let items = page[list].as_array().unwrap().len();
            assert!(items <= 2);
            found += items;
            match page["next"].as_str() {
                Some(behind) => next = format!("{position}={behind}"),
                None => return found,
            }
        }
    };
    assert_eq!(walk("/v1/sessions", "before", "sessions").await, 3);
    assert_eq!(walk("/v1/ledger", "after", "calls").await, 3);
    assert_eq!(test.get("/v1/sessions?limit=3").await.status, 400);
    let lines = test.send(Request::get("/v1/ledger").header("accept", "application/jsonl")).await;
    assert_eq!(lines.header("content-type"), Some("application/jsonl"));
    assert_eq!(lines.text().lines().count(), 3, "lines have no page");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_before_its_turn_or_call_does() {
    let (model, mut script) = model_pair();
    let gate = Gate::new();
    let short = Duration::from_millis(50);
    let test = Setup::new(model)
        .tool(FakeTool::write("slow").gate(&gate))
        .limits(|limits| (limits.max_wait, limits.completion_wait) = (short, short))
        .start()
        .await;
    test.open("s").await;
    let request = Request::post("/v1/sessions/s/turns", &json!({ "text": "hi" }));
    let answer = test.send(request.header("prefer", "wait=3600")).await;
    assert_eq!(answer.ok(202)["session"], "s");
    script.next().await.say("done");
    let keyed = async || {
        let call = Request::post("/v1/tools/slow/calls", &json!({})).header("idempotency-key", "k");
        test.send(call).await
    };
    let late = keyed().await;
    assert_eq!((late.status, &*late.problem()), (504, "still-waiting"));
    let call = late.json()["call"].clone();
    gate.release();
    until(async || keyed().await.status == 200).await;
    assert_eq!(keyed().await.json()["call"], call, "it went on meanwhile");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn data_that_is_too_large_for_an_event_is_read_elsewhere() {
    let large = madang::tool::ToolOutcome::ok(json!({ "text": "x".repeat(5_000) }));
    let script = [
        madang_testing::ScriptedCompletion::call("large", &json!({})),
        madang_testing::ScriptedCompletion::text("done"),
    ];
    let test = Setup::new(ScriptedModel::repeating(script))
        .tool(FakeTool::read("large").end(End::Give(large)))
        .limits(|limits| limits.max_event_bytes = 4_096)
        .start()
        .await;
    test.open("s").await;
    test.say("s", "hi").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    let ended = events.until("tool_call_ended").await.pop().unwrap().data;
    let data = &ended["outcome"]["data"];
    assert_eq!(data["too_large"], json!({ "text": "x".repeat(5_000) }).to_string().len());
    let row = test.get(data["href"].as_str().unwrap()).await.ok(200);
    assert_eq!(row["outcome"]["data"]["text"], "x".repeat(5_000));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_too_large_by_its_arguments_as_well() {
    let small = madang::tool::ToolOutcome::ok(json!({ "text": "small" }));
    let script = [
        madang_testing::ScriptedCompletion::call("look", &json!({ "at": "x".repeat(5_000) })),
        madang_testing::ScriptedCompletion::text("done"),
    ];
    let test = Setup::new(ScriptedModel::repeating(script))
        .tool(FakeTool::read("look").end(End::Give(small)))
        .limits(|limits| limits.max_event_bytes = 4_096)
        .start()
        .await;
    test.open("s").await;
    test.say("s", "hi").await;
    let mut events = test.stream("/v1/sessions/s/events").await;
    let ended = events.until("tool_call_ended").await.pop().unwrap().data;
    assert_eq!(ended["outcome"]["data"]["too_large"], json!({ "text": "small" }).to_string().len());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_piece_of_text_comes_in_frames_that_a_reader_can_take() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).limits(|limits| limits.max_text_frame_bytes = 1_000).start().await;
    test.open("s").await;
    test.post("/v1/sessions/s/turns", json!({ "text": "hi" })).await.ok(202);
    let completion = script.next().await;
    completion.delta(&"가나다".repeat(500));
    let mut events = test.stream("/v1/sessions/s/events").await;
    let mut said = String::new();
    while said.len() < 4_500 {
        let frame = events.until("text").await.pop().unwrap();
        let piece = frame.data["text"].as_str().unwrap();
        assert!(piece.len() <= 1_000);
        assert_eq!(frame.data["at"], said.len());
        said.push_str(piece);
    }
    assert_eq!(said, "가나다".repeat(500));
    completion.say(&said);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_others_reach_needs_tokens_and_an_address_with_tls() {
    let runtime = || async {
        let builder = madang::Runtime::builder().model(says("a"));
        builder.store(madang_testing::MemoryStore::new()).start().await.unwrap()
    };
    let open_to_all = async || vec![Listener::from(TcpListener::bind("0.0.0.0:0").await.unwrap())];
    let kim = madang::UserId::new("kim").unwrap();
    let open = ServerOptions::default().open(kim);
    let server = Server::new(runtime().await, open.clone()).unwrap();
    let error = server.serve(open_to_all().await, std::future::pending()).await.unwrap_err();
    assert!(matches!(error, ServeError::OpenToOthers { .. }), "{error}");
    let file = tempfile::tempdir().unwrap();
    let file = madang_server::TokenFile::new(file.path().join("tokens"));
    let tokens = ServerOptions::default().token_file(file);
    let server = Server::new(runtime().await, tokens.clone()).unwrap();
    let error = server.serve(open_to_all().await, std::future::pending()).await.unwrap_err();
    assert!(matches!(error, ServeError::ClearText { .. }), "{error}");
    let proxied = tokens.public_url("https://chat.example.org".parse().unwrap());
    let server = Server::new(runtime().await, proxied).unwrap();
    server.serve(open_to_all().await, std::future::ready(())).await.unwrap();
    assert!(Server::new(runtime().await, ServerOptions::default()).is_err(), "it has no caller");
}
