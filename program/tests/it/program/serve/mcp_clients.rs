//! Tests that an answer of an MCP client finds its call after the server was killed.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use super::{Home, RunningServer};
use crate::program::signal;

const ADD: &str = "add_habit";

/// Calls the tool as a client of the newest revision does, and gives the result.
fn call(server: &RunningServer, more: &Value) -> Value {
    let arguments = json!({ "protocol_id": "morning-light", "frame_level": "L2", "framed_text": "매일 아침에 한다" });
    let mut params = json!({ "name": ADD, "arguments": arguments });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let body = body.to_string();
    let mut stream = server.connect();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
         accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {ADD}\r\n\
         content-length: {}\r\n\r\n{body}",
        server.address,
        server.token(),
        body.len(),
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let message = answer.lines().find_map(|line| line.strip_prefix("data: {"));
    let message = message.unwrap_or_else(|| panic!("no message: {answer}"));
    serde_json::from_str::<Value>(&format!("{{{message}")).unwrap()["result"].clone()
}

#[test]
fn an_answer_finds_its_call_after_a_kill_and_is_told_that_nothing_was_done() {
    let home = Home::new();
    let serve = |address: &str| home.serve(&[], &["--listen", address]);
    let server = RunningServer::of(serve("127.0.0.1:0"), "open ");
    let asked = call(&server, &json!({}));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let address = server.address.to_string();
    signal("KILL", server.id());
    server.program.ended();

    let server = RunningServer::of(serve(&address), "open ");
    let yes = json!({ "question": { "action": "accept", "content": { "ok": true } } });
    let brings = json!({ "requestState": asked["requestState"], "inputResponses": yes });
    let ended = call(&server, &brings);
    assert_eq!(ended["isError"], true, "{ended}");
    let rows = server.get("/v1/ledger").json()["calls"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 1, "no other call was begun: {rows}");
    assert_eq!(
        (&rows[0]["call"], &rows[0]["effect"]),
        (&ended["_meta"]["io.madang/call"], &json!("none"))
    );
    // A new call is asked anew, and its yes adds once.
    let asked = call(&server, &json!({}));
    let brings = json!({ "requestState": asked["requestState"], "inputResponses": yes });
    assert_eq!(call(&server, &brings)["isError"], json!(false));
    signal("TERM", server.id());
    assert_eq!(server.program.ended().code, Some(0));
    assert_eq!(home.habits(), 1);
}
