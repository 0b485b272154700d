//! However a server over HTTP writes its answer, the call ends at once, and as the server said if
//! that can be read.

use madang_test_support::mcp_server::{Script, says, tool};
use madang_testing::ScriptedModel;
use serde_json::{Value, json};

use super::{
    Comes::{self, Done, Refused},
    FAILED, LOST, Row, TIMEOUT, UNCLEAR, each_ends_at_once,
};
use crate::{
    http_server::{HttpServer, configured},
    support::{ConfigFolder, LEGACY, NEWEST, Scene},
};

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"hello"}]}}"#;

fn hello() -> Comes {
    Done(json!("hello"))
}

/// A whole answer with this status, these headers and this body.
fn status(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\n\r\n{body}").into()
}

/// Bodies that are no stream. Each is the answer, whatever it says.
fn bodies() -> Vec<Row> {
    let json = |json: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,{json}}}").into_bytes();
    let text = |text: &str| {
        json(&format!("\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}]}}"))
    };
    vec![
        ("plain", HELLO.into(), hello()),
        ("error_null", json(r#""error":null,"result":{"content":[{"type":"text","text":"hello"}]}"#), hello()),
        ("lone_surrogate", text(r#""bad \ud83d end""#), Done(json!("bad \u{fffd} end"))),
        ("no_utf_8", [&b"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}}"[..]].concat(), Done(json!("caf\u{fffd}"))),
        ("digits", json(r#""result":{"content":[],"structuredContent":{"v":123456789012345678901234567890}}"#), Done(json!({ "v": "123456789012345678901234567890" }))),
        ("a_list_of_one", format!("[{HELLO}]").into(), hello()),
        ("indented", HELLO.replace(",", ",\n  ").into(), hello()),
        ("no_type", status("200 OK", "", HELLO), hello()),
        ("html_type", status("200 OK", "content-type: text/html\r\n", HELLO), hello()),
        ("refused", json(r#""error":{"code":-32602,"message":"no"}"#), Refused("no")),
        ("refused_without_id", br#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"}}"#.into(), Refused("no")),
        ("refused_for_another", br#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32602,"message":"no"}}"#.into(), Refused("no")),
        ("cut_off", br#"{"jsonrpc":"2.0","id":$ID,"result":{"con"#.into(), UNCLEAR),
        ("for_another", br#"{"jsonrpc":"2.0","id":99,"result":{"content":[]}}"#.into(), UNCLEAR),
        ("only_news", br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#.into(), UNCLEAR),
        ("empty", status("200 OK", "content-length: 0\r\n", ""), UNCLEAR),
        ("a_page", status("200 OK", "content-type: text/html\r\n", "<html>Sign in</html>"), UNCLEAR),
        ("breaks_off", status("200 OK", "content-type: application/json\r\ncontent-length: 999\r\n", HELLO), LOST),
        ("too_long", format!("{HELLO}$FILL").into(), UNCLEAR),
    ]
}

/// Answers by a status.
fn statuses() -> Vec<Row> {
    let refusal =
        r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32000,"message":"Bad Request"}}"#;
    vec![
        ("bad_request", status("400 Bad Request", "", ""), Refused("HTTP 400")),
        (
            "bad_request_says_why",
            status("400 Bad Request", "content-type: application/json\r\n", refusal),
            Refused("Bad Request"),
        ),
        ("bad_request_in_html", status("400 Bad Request", "", "<html>"), Refused("HTTP 400")),
        ("unauthorized", status("401 Unauthorized", "", ""), Refused("HTTP 401")),
        (
            "unauthorized_says_how",
            status("401 Unauthorized", "www-authenticate: Bearer\r\n", ""),
            Refused("HTTP 401"),
        ),
        ("forbidden", status("403 Forbidden", "", "{\"error\":\"no\"}"), Refused("HTTP 403")),
        ("not_found", status("404 Not Found", "", ""), Refused("HTTP 404")),
        ("too_large", status("413 Payload Too Large", "", ""), Refused("HTTP 413")),
        (
            "too_many",
            status("429 Too Many Requests", "retry-after: 1\r\n", refusal),
            Refused("HTTP 429"),
        ),
        (
            "says_words",
            status("422 Unprocessable", "", "{\"error\":\"no such tool\"}"),
            Refused("no such tool"),
        ),
        ("server_error", status("500 Internal Server Error", "", ""), FAILED),
        ("server_error_says_why", status("500 Internal Server Error", "", refusal), FAILED),
        ("unavailable", status("503 Service Unavailable", "", "<html>"), FAILED),
        (
            "moved",
            status("307 Temporary Redirect", "location: http://127.0.0.1:1/\r\n", ""),
            FAILED,
        ),
        ("closes", b"HTTP/1.1 200 OK\r\n".into(), LOST),
        ("no_http", b"HTTP/9 what?\r\n\r\n".into(), LOST),
    ]
}

/// Answers by a stream.
fn streams() -> Vec<Row> {
    let event = |data: &str| format!("data: {data}\n\n").into_bytes();
    vec![
        ("stream", event(HELLO), hello()),
        ("stream_with_names", format!("event: message\nid: 1\ndata: {HELLO}\n\n").into(), hello()),
        ("stream_crlf", format!("event: message\r\ndata: {HELLO}\r\n\r\n").into(), hello()),
        ("stream_noise_first", format!(": ping\n\ndata: {{\"level\":30}}\n\ndata: soon\n\nevent: ping\ndata: {{}}\n\ndata: {HELLO}\n\n").into(), hello()),
        ("stream_unknown_fields", format!("data\nx-y: z\nodd\n\ndata: {HELLO}\n\n").into(), hello()),
        ("stream_in_lines", format!("data: {}\n\n", HELLO.replace(",", ",\ndata: ")).into(), hello()),
        ("stream_without_end", format!("data: {HELLO}").into(), hello()),
        ("stream_error_null", event(&HELLO.replace("\"result\"", "\"error\":null,\"result\"")), hello()),
        ("stream_lone_surrogate", event(&HELLO.replace("hello", "\\ud83d")), Done(json!("\u{fffd}"))),
        ("stream_no_utf_8", [&b"data: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}}\n\n"[..]].concat(), Done(json!("caf\u{fffd}"))),
        ("stream_refused", event(r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"no"}}"#), Refused("no")),
        ("stream_cut_off", event(r#"{"jsonrpc":"2.0","id":$ID,"result":{"con"#), UNCLEAR),
        ("stream_of_others", event(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#), LOST),
        ("stream_of_nothing", b": ping\n\n".into(), LOST),
        ("stream_too_long", b"data: $FILL".into(), UNCLEAR),
        ("stream_breaks_off", status("200 OK", "content-type: text/event-stream\r\ncontent-length: 999\r\n", "data: {"), LOST),
    ]
}

#[tokio::test]
async fn each_body_ends_its_call_at_once_as_its_server_said() {
    let play = async |version| {
        let rows: Vec<Row> = [bodies(), statuses(), streams()].into_iter().flatten().collect();
        let folder = ConfigFolder::new();
        let tools: Value = rows.iter().map(|(name, ..)| tool(name)).collect();
        let server = HttpServer::start(Script::new(folder.notes(), version, &tools)).await;
        for (name, bytes, _) in &rows {
            says(folder.notes(), name, bytes);
        }
        let config = configured(&folder, &server.url, &json!({ "timeout": TIMEOUT }));
        let scene = Scene::of(folder, config, ScriptedModel::new([])).await;
        each_ends_at_once(&scene, &rows, version).await;
        scene.end().await;
    };
    tokio::join!(play(LEGACY), play(NEWEST));
}

#[tokio::test]
async fn a_greeting_over_http_that_cannot_be_read_ends_the_start_in_one_sentence() {
    let folder = ConfigFolder::new();
    let server = HttpServer::start(Script::new(folder.notes(), LEGACY, &json!([]))).await;
    says(folder.notes(), "server/discover", b"<html>Sign in</html>");
    says(folder.notes(), "initialize", b"<html>Sign in</html>");
    let config = configured(&folder, &server.url, &json!({}));
    let error = madang_mcp::McpServers::start(&config).await.unwrap_err().to_string();
    assert!(error.contains("its answer to the greeting cannot be read"), "{error}");
}
