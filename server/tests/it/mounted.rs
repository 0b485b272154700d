//! The routes within another application stream as they do alone. A client that leaves before the
//! first byte of its stream leaves a turn that goes on, unless the server is told otherwise.

use axum::{
    Router,
    body::Body,
    http::{Request, Response, header},
    routing::get,
};
use http_body_util::BodyExt as _;
use madang::{Runtime, UserId, model::Completion};
use madang_server::{OnDisconnect, Server, ServerOptions};
use madang_testing::{HandScript, MemoryStore, model_pair};
use serde_json::Value;
use tokio::time::timeout;
use tower_service::Service as _;

use crate::{http::PATIENCE, support::until};

/// Starts a server with this policy for readers that leave.
async fn server(policy: OnDisconnect) -> (Server, HandScript) {
    let (model, script) = model_pair();
    let runtime = Runtime::builder().model(model).store(MemoryStore::new()).start().await.unwrap();
    let options = ServerOptions::default().open(UserId::new("me").unwrap()).on_disconnect(policy);
    (Server::new(runtime, options).unwrap(), script)
}

async fn answer(router: &mut Router, path: &str, body: Option<&'static str>) -> Response<Body> {
    let method = if body.is_some() { "POST" } else { "GET" };
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    let request = request
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, if body.is_some() { "text/event-stream" } else { "*/*" });
    let body = body.map_or_else(Body::empty, Body::from);
    let answer = router.call(request.body(body).unwrap()).await.unwrap();
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
    answer
}

async fn text(answer: Response<Body>) -> String {
    let body = timeout(PATIENCE, answer.into_body().collect()).await.expect("the body ends");
    String::from_utf8(body.unwrap().to_bytes().into()).unwrap()
}

#[tokio::test]
async fn a_router_in_another_application_streams_as_well() {
    let (server, mut script) = server(OnDisconnect::default()).await;
    let mut app = Router::new().route("/hello", get(async || "Good day.")).merge(server.router());
    assert_eq!(text(answer(&mut app, "/hello", None).await).await, "Good day.");
    answer(&mut app, "/v1/sessions", Some(r#"{"id":"s"}"#)).await;
    let stream = answer(&mut app, "/v1/sessions/s/turns", Some(r#"{"text":"hi"}"#)).await;
    script.next().await.finish(Completion::text("an answer"));
    let events = text(stream).await;
    assert!(events.contains("an answer") && events.contains("event: turn_ended"), "{events}");
    server.drain().await.unwrap();
}

#[tokio::test]
async fn a_turn_whose_reader_leaves_before_any_byte_is_dismissed_if_the_server_is_told_so() {
    let (server, mut script) = server(OnDisconnect::Dismiss).await;
    let mut router = server.router();
    answer(&mut router, "/v1/sessions", Some(r#"{"id":"native"}"#)).await;
    for (path, body) in [
        ("/v1/sessions/native/turns", r#"{"text":"hi"}"#),
        ("/v1/chat/completions", r#"{"messages":[{"role":"user","content":"hi"}],"stream":true}"#),
        (
            "/ag-ui",
            r#"{"threadId":"a","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}]}"#,
        ),
        (
            "/api/chat",
            r#"{"id":"b","message":{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}}"#,
        ),
    ] {
        let stream = answer(&mut router, path, Some(body)).await;
        let completion = script.next().await;
        assert!(!completion.is_cancelled());
        drop(stream);
        timeout(PATIENCE, completion.cancelled()).await.expect(path);
    }
    server.drain().await.unwrap();
}

#[tokio::test]
async fn a_turn_whose_reader_leaves_before_the_first_byte_goes_on() {
    let (server, mut script) = server(OnDisconnect::default()).await;
    let mut router = server.router();
    answer(&mut router, "/v1/sessions", Some(r#"{"id":"s"}"#)).await;
    let stream = answer(&mut router, "/v1/sessions/s/turns", Some(r#"{"text":"hi"}"#)).await;
    let turn = stream.headers()[header::LOCATION].to_str().unwrap().to_owned();
    let completion = script.next().await;
    drop(stream);
    completion.finish(Completion::text("an answer"));
    let status = async || {
        let status = text(answer(&mut router.clone(), &turn, None).await).await;
        serde_json::from_str::<Value>(&status).unwrap()
    };
    until(async || status().await["status"] == "ended").await;
    assert_eq!(status().await["ending"], "answered");
    server.drain().await.unwrap();
}
