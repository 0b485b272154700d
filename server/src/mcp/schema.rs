//! Describes the messages of MCP clients, as far as every one of them has the same form. The
//! protocol's own description has the rest.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::route::ForeignObject;

/// A message of an MCP client. Except `initialize`, it needs the header `Mcp-Session-Id` in
/// revisions that have sessions, and otherwise the headers and the `_meta` of its revision.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used: the protocol's library reads messages")]
pub(super) enum McpMessage {
    /// The request that begins a session.
    Initialize(McpInitialize),
    /// Another request.
    Request(McpRequest),
    /// A message that needs no answer.
    Notification(McpNotification),
    /// The answer to a request of the server.
    Result(McpResult),
    /// The refusal of a request of the server.
    Error(McpError),
}

/// The request that begins a session.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct McpInitialize {
    jsonrpc: McpVersion,
    id: McpId,
    #[schemars(schema_with = "initialize")]
    method: String,
    params: McpHandshake,
}

/// The client that begins a session.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
struct McpHandshake {
    /// The newest revision that the client speaks.
    protocol_version: String,
    /// What the client can do.
    capabilities: ForeignObject,
    client_info: McpClientInfo,
}

/// The name of a client.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct McpClientInfo {
    name: String,
    version: String,
}

/// A request.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct McpRequest {
    jsonrpc: McpVersion,
    id: McpId,
    #[schemars(schema_with = "not_initialize")]
    method: String,
    params: Option<ForeignObject>,
}

/// A message that needs no answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct McpNotification {
    jsonrpc: McpVersion,
    #[schemars(schema_with = "not_initialize")]
    method: String,
    params: Option<ForeignObject>,
}

/// The answer to a request of the server.
#[derive(JsonSchema)]
#[schemars(extend("not" = { "required": ["method"] }))]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct McpResult {
    jsonrpc: McpVersion,
    id: McpId,
    result: ForeignObject,
}

/// The refusal of a request of the server.
#[derive(JsonSchema)]
#[schemars(extend("not" = { "required": ["method"] }))]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct McpError {
    jsonrpc: McpVersion,
    id: McpId,
    error: McpFault,
}

/// The reason of a refusal.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct McpFault {
    code: i32,
    message: String,
}

/// The version of JSON-RPC.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum McpVersion {
    #[schemars(rename = "2.0")]
    Two,
}

/// The id of a request.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum McpId {
    Text(String),
    Number(#[schemars(range(min = i64::MIN, max = i64::MAX))] i64),
}

/// The id of a session, as the header has it.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct McpSession(#[schemars(regex(pattern = "^[!-~]+$"))] String);

/// A revision of the protocol, as the header names it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum McpRevision {
    #[schemars(rename = "2024-11-05")]
    Of2024,
    #[schemars(rename = "2025-03-26")]
    OfMarch2025,
    #[schemars(rename = "2025-06-18")]
    OfJune2025,
    #[schemars(rename = "2025-11-25")]
    OfNovember2025,
    #[schemars(rename = "2026-07-28")]
    Of2026,
}

fn initialize(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": "initialize" })
}

fn not_initialize(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "not": { "const": "initialize" } })
}
