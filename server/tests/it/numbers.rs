//! A number of a request reaches its tool with each digit, or the request is refused: none is
//! rounded.

use madang_testing::{FakeTool, ScriptedModel};
use serde_json::{Value, json};

use crate::{
    http::{Answer, Request},
    support::{Setup, TestServer},
};

/// More digits than 64 bits hold. A reader of JSON makes `1e23` of the last, which is shorter and
/// another number.
const ROUNDED: [&str; 4] = [
    "18446744073709551616",
    "-9223372036854775809",
    "1234567890123456789.0",
    "100000000000000000000001",
];

async fn start() -> TestServer {
    let tool = FakeTool::read("look").parameters(json!({ "type": "object" }));
    Setup::new(ScriptedModel::new([])).tool(tool).start().await
}

async fn send(test: &TestServer, path: &str, body: String) -> Answer {
    let request = Request::new("POST", path).header("content-type", "application/json");
    test.send(request.header("accept", "application/json, text/event-stream").body(body)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_runs_with_each_digit_of_its_numbers_or_not_at_all() {
    let test = start().await;
    let call = async |number: &str| {
        let body = format!(r#"{{"arguments":{{"id":{number}}}}}"#);
        send(&test, "/v1/tools/look/calls", body).await
    };
    for number in ROUNDED {
        let refused = call(number).await;
        assert_eq!((refused.status, &*refused.problem()), (422, "rounded-number"), "{number}");
    }
    assert_eq!(test.get("/v1/ledger").await.ok(200)["calls"], json!([]), "none began");
    for (number, kept) in [
        ("18446744073709551615", json!(u64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("1234567890123456789", json!(1_234_567_890_123_456_789_u64)),
        ("1e300", json!(1e300)),
        ("0.1", json!(0.1)),
        (r#""100000000000000000000001""#, json!("100000000000000000000001")),
    ] {
        let row: Value = call(number).await.ok(200);
        assert_eq!(row["record"]["arguments"]["id"], kept);
    }
    test.shutdown().await;
}

/// Each surface on which a client sends arguments: a call, an edit of a question, a message of a
/// client's.
#[tokio::test(flavor = "multi_thread")]
async fn no_surface_rounds_a_number_of_its_body() {
    let test = start().await;
    test.open("s").await;
    let call = "00000000-0000-0000-0000-000000000001";
    for number in ROUNDED {
        let arguments = format!(r#"{{"id":{number}}}"#);
        for (path, body) in [
            (
                format!("/v1/approvals/{call}/decision"),
                format!(
                    r#"{{"decision":"edit","digest":"{}","arguments":{arguments}}}"#,
                    "0".repeat(64)
                ),
            ),
            (
                "/ag-ui".to_owned(),
                format!(r#"{{"threadId":"t","runId":"r","messages":[],"state":{arguments}}}"#),
            ),
            (
                "/api/chat".to_owned(),
                format!(r#"{{"id":"t","messages":[{{"parts":[{{"input":{arguments}}}]}}]}}"#),
            ),
            (
                "/mcp".to_owned(),
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"look","arguments":{arguments}}}}}"#
                ),
            ),
        ] {
            let refused = send(&test, &path, body).await;
            let told = refused.text();
            let status = if path == "/mcp" { 200 } else { 422 };
            assert_eq!(refused.status, status, "{path} {number}: {told}");
            assert!(told.contains("64 bits"), "{path} {number}: {told}");
        }
    }
    assert_eq!(test.get("/v1/ledger").await.ok(200)["calls"], json!([]));
    test.shutdown().await;
}
