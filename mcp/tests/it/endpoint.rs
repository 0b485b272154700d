//! The endpoint for HTTP answers under its own hosts and to its own origins alone, whatever guard stands before it.

use bytes::Bytes;
use http::{Request, StatusCode};
use madang::UserId;
use madang_mcp::{EndpointLimits, EndpointRefusal, EndpointSite, ToolCaller, ToolEndpoint};
use serde_json::json;

use crate::{serving::Offered, support::until};

const OURS: &str = "localhost:8137";

fn site() -> EndpointSite {
    EndpointSite { hosts: vec![OURS.to_owned()], origins: vec![format!("http://{OURS}")] }
}

fn kim() -> ToolCaller {
    ToolCaller::new(UserId::new("kim").unwrap())
}

fn initialize(host: &str, origin: Option<&str>) -> Request<Bytes> {
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
async fn a_refused_handshake_leaves_its_place_and_the_end_ends_all_sessions() {
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
