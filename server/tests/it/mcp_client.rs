//! MCP clients over raw connections: of the revision without a handshake, and of one with sessions.

use madang_testing::{FakeTool, Runs, ScriptedModel};
use serde_json::{Value, json};

use crate::{
    http::{Answer, EventReader, Request},
    support::{Setup, TestServer},
};

pub(crate) const NEWEST: &str = "2026-07-28";
pub(crate) const OLDER: &str = "2025-11-25";

/// A server with a tool that writes and one that asks, and how often the latter ran.
pub(crate) fn setup() -> (Setup, Runs) {
    let remove = FakeTool::destructive("remove");
    let runs = remove.runs();
    let setup = Setup::new(ScriptedModel::new([])).tool(FakeTool::write("write")).tool(remove);
    (setup, runs)
}

/// The capabilities of clients that show forms, addresses, or nothing.
pub(crate) fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

pub(crate) fn pages() -> Value {
    json!({ "elicitation": { "url": {} } })
}

pub(crate) fn nothing() -> Value {
    json!({})
}

/// A request of the newest revision.
pub(crate) fn modern(method: &str, mut params: Value, capabilities: &Value) -> Request {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    for (name, value) in meta.as_object().unwrap() {
        params["_meta"][name] = value.clone();
    }
    let name = params["name"].as_str().map(str::to_owned);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = post(&body).header("mcp-protocol-version", NEWEST).header("mcp-method", method);
    name.into_iter().fold(request, |request, name| request.header("mcp-name", &name))
}

/// A call of the newest revision.
pub(crate) fn call(tool: &str, capabilities: &Value) -> Request {
    call_with(called(tool), capabilities)
}

/// A call of the newest revision with these parameters.
pub(crate) fn call_with(params: Value, capabilities: &Value) -> Request {
    modern("tools/call", params, capabilities)
}

/// The parameters of a call.
pub(crate) fn called(tool: &str) -> Value {
    json!({ "name": tool, "arguments": { "what": "it" } })
}

/// The same call again, with a state and an answer to its question.
pub(crate) fn retry(tool: &str, capabilities: &Value, state: &Value, answer: &Value) -> Request {
    retry_of(called(tool), capabilities, state, answer)
}

/// The same for a call with these parameters.
pub(crate) fn retry_of(
    mut params: Value,
    capabilities: &Value,
    state: &Value,
    answer: &Value,
) -> Request {
    params["requestState"] = state.clone();
    params["inputResponses"] = json!({ "question": answer });
    modern("tools/call", params, capabilities)
}

pub(crate) fn yes() -> Value {
    json!({ "action": "accept", "content": { "ok": true } })
}

fn post(body: &Value) -> Request {
    Request::post("/mcp", body).header("accept", "application/json, text/event-stream")
}

/// The last message of an answer, which is one message or a stream of them.
pub(crate) fn message(answer: &Answer) -> Value {
    messages(answer).pop().unwrap_or_else(|| panic!("no message: {answer:?}"))
}

pub(crate) fn messages(answer: &Answer) -> Vec<Value> {
    if answer.header("content-type") == Some("application/json") {
        return vec![answer.json()];
    }
    let data = answer.text().lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter(|data| !data.trim().is_empty())
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// The result of an answer.
pub(crate) fn result(answer: &Answer) -> Value {
    let message = message(answer);
    assert!(message.get("result").is_some(), "{message}");
    message["result"].clone()
}

/// The code of an error of the protocol.
pub(crate) fn code(answer: &Answer) -> i64 {
    message(answer)["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer:?}"))
}

/// A session of an older revision.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) id: String,
    token: String,
}

/// Asks for a session.
pub(crate) async fn initialize(test: &TestServer, token: &str, capabilities: &Value) -> Answer {
    let params = json!({
        "protocolVersion": OLDER, "capabilities": capabilities,
        "clientInfo": { "name": "test", "version": "1" },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    post(&body).bearer(token).send(test.address).await
}

impl Session {
    pub(crate) async fn begin(test: &TestServer, token: &str, capabilities: &Value) -> Self {
        let begun = initialize(test, token, capabilities).await;
        assert_eq!(begun.status, 200, "{}", begun.text());
        assert_eq!(result(&begun)["protocolVersion"], OLDER);
        let id = begun.header("mcp-session-id").unwrap().to_owned();
        let session = Self { id, token: token.to_owned() };
        let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(session.post(&done).send(test.address).await.status, 202);
        session
    }

    /// The same session in the hands of another token.
    pub(crate) fn with(&self, token: &str) -> Self {
        Self { id: self.id.clone(), token: token.to_owned() }
    }

    fn on(&self, request: Request) -> Request {
        let request = request.bearer(&self.token).header("mcp-session-id", &self.id);
        request.header("mcp-protocol-version", OLDER)
    }

    pub(crate) fn post(&self, message: &Value) -> Request {
        self.on(post(message))
    }

    pub(crate) fn call(&self, id: u32, tool: &str) -> Request {
        self.call_with(id, &called(tool))
    }

    pub(crate) fn call_with(&self, id: u32, params: &Value) -> Request {
        self.post(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
    }

    pub(crate) fn ping(&self) -> Request {
        self.post(&json!({ "jsonrpc": "2.0", "id": 9_000, "method": "ping" }))
    }

    pub(crate) fn stream(&self) -> Request {
        self.on(Request::get("/mcp")).header("accept", "text/event-stream")
    }

    pub(crate) fn delete(&self) -> Request {
        self.on(Request::new("DELETE", "/mcp"))
    }

    /// Answers the server's question on a stream of this session.
    pub(crate) async fn answer(&self, test: &TestServer, asked: &Value, given: Value) -> Answer {
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": given });
        self.post(&answer).send(test.address).await
    }
}

/// Reads on until a message of this method.
pub(crate) async fn until_method(stream: &mut EventReader, method: &str) -> Value {
    stream.until_data(|data| data["method"] == method).await.pop().unwrap().data
}

/// Reads on until the result of a request.
pub(crate) async fn until_result(stream: &mut EventReader) -> Value {
    let is_result = |data: &Value| data.get("result").is_some();
    stream.until_data(is_result).await.pop().unwrap().data["result"].clone()
}
