//! The endpoint for HTTP answers under its own hosts and to its own origins alone, whatever guard
//! stands before it.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use madang::UserId;
use madang_mcp::{
    EndpointBody, EndpointLimits, EndpointRefusal, EndpointSite, ToolCaller, ToolEndpoint,
};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::timeout};

use crate::{
    serving::Offered,
    support::{PATIENCE, until},
};

const OURS: &str = "localhost:8137";

pub(crate) fn site() -> EndpointSite {
    EndpointSite { hosts: vec![OURS.to_owned()], origins: vec![format!("http://{OURS}")] }
}

pub(crate) fn kim() -> ToolCaller {
    ToolCaller::new(UserId::new("kim").unwrap())
}

pub(crate) fn initialize(host: &str, origin: Option<&str>) -> Request<Bytes> {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let request = Request::post("/mcp")
        .header("host", host)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let request =
        origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
    request.body(Bytes::from(body.to_string())).unwrap()
}

#[tokio::test]
async fn another_host_and_another_origin_are_refused() {
    let offered = Offered::new().await;
    let endpoint = ToolEndpoint::new(offered.runtime, [7; 32], EndpointLimits::default());
    for (host, origin, expected) in [
        (OURS, None, StatusCode::OK),
        (OURS, Some("http://localhost:8137"), StatusCode::OK),
        ("evil.example:8137", None, StatusCode::FORBIDDEN),
        ("localhost:80", None, StatusCode::FORBIDDEN),
        (OURS, Some("https://evil.example"), StatusCode::FORBIDDEN),
        (OURS, Some("http://localhost:1"), StatusCode::FORBIDDEN),
        (OURS, Some("null"), StatusCode::FORBIDDEN),
    ] {
        let answer = endpoint.answer(kim(), site(), initialize(host, origin)).await.unwrap();
        assert_eq!(answer.status(), expected, "{host} {origin:?}");
    }
    assert_eq!(endpoint.sessions(), 2, "a refusal begins nothing");
    let none = EndpointSite { hosts: vec![OURS.to_owned()], origins: Vec::new() };
    let asks = initialize(OURS, Some("https://evil.example"));
    let answer = endpoint.answer(kim(), none, asks).await.unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN, "an empty list allows none");
}

#[tokio::test]
async fn a_refused_handshake_leaves_its_permit_and_the_end_ends_all_sessions() {
    let offered = Offered::new().await;
    let mut limits = EndpointLimits::default();
    limits.max_sessions_per_user = 1;
    let endpoint = ToolEndpoint::new(offered.runtime, [7; 32], limits);
    let wrong = endpoint.answer(kim(), site(), initialize("evil.example", None)).await.unwrap();
    assert_eq!(wrong.status(), StatusCode::FORBIDDEN);
    let begun = endpoint.answer(kim(), site(), initialize(OURS, None)).await.unwrap();
    assert_eq!(begun.status(), StatusCode::OK);
    let full = endpoint.answer(kim(), site(), initialize(OURS, None)).await;
    assert_eq!(full.unwrap_err(), EndpointRefusal::TooManyOfUser { max: 1 });
    endpoint.close();
    until("the session has ended", async || endpoint.sessions() == 0).await;
}

/// A client in a session.
#[derive(Clone)]
struct InSession {
    endpoint: ToolEndpoint,
    id: String,
}

impl InSession {
    async fn begin(endpoint: &ToolEndpoint) -> Self {
        let begun = endpoint.answer(kim(), site(), initialize(OURS, None)).await.unwrap();
        let id = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        Self { endpoint: endpoint.clone(), id }
    }

    fn message(&self, message: &Value) -> Request<Bytes> {
        let mut request = initialize(OURS, None);
        *request.body_mut() = Bytes::from(message.to_string());
        request.headers_mut().insert("mcp-session-id", self.id.parse().unwrap());
        request
    }

    async fn send(&self, message: Value) -> Response<EndpointBody> {
        self.endpoint.answer(kim(), site(), self.message(&message)).await.unwrap()
    }

    async fn call(&self, id: usize, tool: &str) -> Response<EndpointBody> {
        self.call_with(json!(id), tool, &json!({})).await
    }

    async fn call_with(&self, id: Value, tool: &str, meta: &Value) -> Response<EndpointBody> {
        let params = json!({ "name": tool, "arguments": {}, "_meta": meta });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
            .await
    }
}

/// Reads an answer to its last message.
async fn last(answer: Response<EndpointBody>) -> Value {
    let mut body = answer.into_body();
    let mut text = String::new();
    while let Some(Ok(frame)) = body.frame().await {
        text += std::str::from_utf8(&frame.into_data().unwrap()).unwrap();
    }
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = data.rfind(|data| !data.trim().is_empty());
    serde_json::from_str(last.unwrap_or_else(|| panic!("no message: {text}"))).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_refusals_leaves_a_session_that_answers() {
    const MAX: usize = 64;
    let offered = Offered::new().await;
    let runtime = offered.runtime.clone();
    let endpoint = ToolEndpoint::new(runtime, [7; 32], EndpointLimits::default());
    let session = InSession::begin(&endpoint).await;
    let first = session.call(1, "slow").await;
    for id in 2..=MAX {
        let _ = session.call(id, "slow").await;
    }
    offered.handlers.begun.acquire_many(MAX as u32).await.unwrap().forget();
    let mut flood = JoinSet::new();
    for id in MAX + 1..10 * MAX {
        let session = session.clone();
        // Every second one has the id of a request that is open.
        let (id, code) = if id % 2 == 0 { (1, -32_600) } else { (id, -32_050) };
        flood.spawn(async move {
            let told = last(session.call(id, "look").await).await;
            assert_eq!((&told["id"], &told["error"]["code"]), (&json!(id), &json!(code)));
        });
    }
    timeout(PATIENCE, flood.join_all()).await.expect("each is answered");
    assert_eq!(offered.runs(), 0);
    offered.handlers.go_on.add_permits(MAX);
    let told = timeout(PATIENCE, last(first)).await.expect("its answer still finds it");
    assert!(told["result"].is_object(), "{told}");
}

#[tokio::test]
async fn a_name_that_is_longer_than_any_needs_to_be_is_refused() {
    let offered = Offered::new().await;
    let endpoint = ToolEndpoint::new(offered.runtime.clone(), [7; 32], EndpointLimits::default());
    let session = InSession::begin(&endpoint).await;
    let fits = "x".repeat(256);
    let long = "x".repeat(257);
    for (id, token, is_refused) in
        [(&fits, &fits, false), (&long, &fits, true), (&fits, &long, true)]
    {
        let meta = json!({ "progressToken": token });
        let told = last(session.call_with(json!(id), "look", &meta).await).await;
        assert_eq!(told["error"]["code"] == -32_602, is_refused, "{told}");
    }
    assert_eq!(offered.runs(), 1);
}

#[tokio::test]
async fn a_handshake_has_a_bound_of_its_own() {
    let offered = Offered::new().await;
    let endpoint = ToolEndpoint::new(offered.runtime, [7; 32], EndpointLimits::default());
    let of = |bytes: usize| {
        let mut request = initialize(OURS, None);
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        let spaces = " ".repeat(bytes - body.len());
        *request.body_mut() = Bytes::from(body + &spaces);
        request
    };
    let max = 64 * 1024;
    let long = endpoint.answer(kim(), site(), of(max + 1)).await;
    assert_eq!(long.unwrap_err(), EndpointRefusal::LongHandshake { max });
    let fits = endpoint.answer(kim(), site(), of(max)).await.unwrap();
    assert_eq!((fits.status(), endpoint.sessions()), (StatusCode::OK, 1));
}

#[tokio::test]
async fn a_message_of_more_values_than_any_needs_is_refused_before_it_is_read() {
    let offered = Offered::new().await;
    let endpoint = ToolEndpoint::new(offered.runtime, [7; 32], EndpointLimits::default());
    let with = |body: String| {
        let mut request = initialize(OURS, None);
        *request.body_mut() = Bytes::from(body);
        endpoint.answer(kim(), site(), request)
    };
    let max = 128 * 1024;
    let zeros = format!("[{}0]", "0,".repeat(max));
    assert_eq!(with(zeros).await.unwrap_err(), EndpointRefusal::ManyValues { max });
    // What stands in a text is no value.
    let text = format!(r#"["\"{}"]"#, ",".repeat(2 * max));
    assert_eq!(with(text).await.unwrap().status(), StatusCode::BAD_REQUEST);
}

/// The bytes that this process holds in memory.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_call_brings_that_nothing_reads_is_not_kept_while_it_runs() {
    const CALLS: usize = 60;
    let offered = Offered::new().await;
    let endpoint = ToolEndpoint::new(offered.runtime.clone(), [7; 32], EndpointLimits::default());
    let session = InSession::begin(&endpoint).await;
    // As many values as a message may have, nearly.
    let meta = json!({ "junk": vec![0; 128_000] });
    let before = resident();
    for id in 1..=CALLS {
        let _ = session.call_with(json!(id), "slow", &meta).await;
        offered.handlers.begun.acquire().await.unwrap().forget();
    }
    let held = resident().saturating_sub(before);
    assert!(held < 256 * 1024 * 1024, "{held} bytes are held");
    offered.handlers.go_on.add_permits(CALLS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_session_ends_meanwhile_is_told_that_there_is_none() {
    let offered = Offered::new().await;
    let endpoint = ToolEndpoint::new(offered.runtime, [7; 32], EndpointLimits::default());
    for _ in 0..50 {
        let session = InSession::begin(&endpoint).await;
        let mut requests = JoinSet::new();
        for id in 1..=8 {
            let request = session.message(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
            let endpoint = endpoint.clone();
            requests.spawn(async move { endpoint.answer(kim(), site(), request).await });
        }
        let mut end = session.message(&Value::Null);
        *end.method_mut() = http::Method::DELETE;
        let _ = endpoint.answer(kim(), site(), end).await;
        for answer in requests.join_all().await {
            let status = answer.map_or(StatusCode::NOT_FOUND, |answer| answer.status());
            assert!(matches!(status, StatusCode::OK | StatusCode::NOT_FOUND), "{status}");
        }
    }
}
