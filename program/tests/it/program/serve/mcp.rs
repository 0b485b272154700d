//! Chats of a server have the tools of MCP servers, and ask before they run.

use madang_test_support::mcp_server::{calls, tool};
use serde_json::json;

use super::{Home, RunningServer, until_line};

#[test]
fn a_served_chat_asks_before_a_tool_of_an_mcp_server_runs() {
    let home = Home::new();
    home.mcp(&json!([tool("write")]), &json!({}));
    let call = json!({ "tool_calls": [{ "name": "s__write", "arguments": { "text": "hi" } }] });
    let options = ["--listen", "127.0.0.1:0", "--mcp", "mcp.json"];
    let server =
        RunningServer::of(home.serve(&[call, json!({ "text": "Done." })], &options), "open ");
    assert_eq!(server.get("/v1/tools").text.matches("s__write").count(), 1);
    server.begin("chat", "write it");
    let asked = until_line(&mut server.events("chat"), r#""type":"approval_requested""#);
    let request: serde_json::Value =
        serde_json::from_str(asked.trim().strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(request["consequence"], "Runs the tool 'write' of the MCP server 's'.");
    assert_eq!(calls(home.folder.path(), "write").len(), 0);
    let path = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
    let decision = json!({ "digest": request["digest"], "decision": "approve" });
    assert_eq!(server.post(&path, &decision).status, 200);
    server.until_said("chat", "Done.");
    assert_eq!(calls(home.folder.path(), "write").len(), 1);
}
