//! The events of AG-UI that take more than a line. Optional fields are absent, never null.

use std::collections::VecDeque;

use madang::{approval::ApprovalRequest, model::Usage, tool::ToolRegistry};
use serde::Serialize;
use serde_json::{Value, json};

use crate::stream::frame::Frames;
use crate::surface::{approval_id::ApprovalId, iso8601::iso8601};

/// The version of the protocol that the events keep.
pub(super) const PROTOCOL_VERSION: &str = "1.0";

/// Writes what happened in the session and for what the protocol has no word, under the name of its type.
pub(super) fn write_custom(happened: impl Serialize, out: &mut Frames) {
    let value = serde_json::to_value(happened).expect("an event has text keys");
    let name = format!("madang.{}", value["type"].as_str().unwrap_or("event"));
    out.data(&json!({ "type": "CUSTOM", "name": name, "value": value }));
}

/// Writes all messages that a client is to have, without a copy of them.
pub(super) fn write_messages(messages: VecDeque<Value>, out: &mut Frames) {
    let mut snapshot = json!({ "type": "MESSAGES_SNAPSHOT" });
    snapshot["messages"] = Value::Array(messages.into());
    out.data(&snapshot);
}

/// Describes the cost of a run.
pub(super) fn cost(usage: Usage) -> Value {
    json!({
        "inputTokens": usage.prompt_tokens,
        "outputTokens": usage.completion_tokens,
        "totalTokens": u64::from(usage.prompt_tokens) + u64::from(usage.completion_tokens),
        "cachedInputTokens": usage.cached_tokens,
    })
}

/// Describes an approval request, as an interrupt that a later run resumes. Its id has the digest; `editedArgs` in the
/// schema is the protocol's sign that a person may change the arguments.
pub(super) fn interrupt(request: &ApprovalRequest, tools: &ToolRegistry) -> Value {
    let any = || json!({ "type": "object" }).into();
    let tool = tools.get(&request.tool).ok();
    let arguments = tool.map_or_else(any, |tool| tool.spec().parameters.clone());
    json!({
        "id": ApprovalId::of(request).to_string(),
        "reason": "tool_call",
        "toolCallId": request.call,
        "message": request.text,
        "expiresAt": iso8601(request.expires_at),
        "responseSchema": {
            "type": "object",
            "properties": {
                "approved": { "type": "boolean" },
                "editedArgs": arguments,
                "message": { "type": "string" },
                "always": { "type": "boolean" },
            },
            "required": ["approved"],
        },
        "metadata": { "madang": { "approval_request": request } },
    })
}
