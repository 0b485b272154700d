//! Writes the events of AG-UI that take more than a line. Optional fields are left out, never null.

use std::collections::VecDeque;

use madang::{approval::ApprovalRequest, model::Usage, tool::ToolRegistry};
use serde::Serialize;
use serde_json::{Value, json};

use crate::stream::frame::Frames;
use crate::surface::{
    approval_id::ApprovalId,
    iso8601::iso8601,
    speech::{Part, PartFrames},
};

/// The version of the protocol that the events follow.
pub(super) const PROTOCOL_VERSION: &str = "1.0";

/// Writes an event of the session that the protocol does not define, under the name of its type.
pub(super) fn write_custom(happened: impl Serialize, out: &mut Frames) {
    let value = serde_json::to_value(happened).expect("an event has text keys");
    let name = format!("madang.{}", value["type"].as_str().unwrap_or("event"));
    out.data(&json!({ "type": "CUSTOM", "name": name, "value": value }));
}

/// Writes all messages that a client should have, without copying them.
pub(super) fn write_messages(messages: VecDeque<Value>, out: &mut Frames) {
    let mut snapshot = json!({ "type": "MESSAGES_SNAPSHOT" });
    snapshot["messages"] = Value::Array(messages.into());
    out.data(&snapshot);
}

/// The frames of texts and of thinking.
#[derive(Debug)]
pub(super) struct AgUiParts;

impl PartFrames for AgUiParts {
    fn begin(&self, part: Part, id: &str, out: &mut Frames) {
        let (kind, role) = match part {
            Part::Text => ("TEXT_MESSAGE_START", "assistant"),
            Part::Thinking => {
                out.data(&json!({ "type": "REASONING_START", "messageId": id }));
                ("REASONING_MESSAGE_START", "reasoning")
            }
        };
        out.data(&json!({ "type": kind, "messageId": id, "role": role }));
    }

    fn delta(&self, part: Part, id: &str, delta: &str, out: &mut Frames) {
        let kind = match part {
            Part::Text => "TEXT_MESSAGE_CONTENT",
            Part::Thinking => "REASONING_MESSAGE_CONTENT",
        };
        out.data(&json!({ "type": kind, "messageId": id, "delta": delta }));
    }

    fn end(&self, part: Part, id: &str, out: &mut Frames) {
        match part {
            Part::Text => out.data(&json!({ "type": "TEXT_MESSAGE_END", "messageId": id })),
            Part::Thinking => {
                out.data(&json!({ "type": "REASONING_MESSAGE_END", "messageId": id }));
                out.data(&json!({ "type": "REASONING_END", "messageId": id }));
            }
        }
    }
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

/// Describes an approval request, as an interrupt that a later run resumes. Its id contains the
/// digest. `editedArgs` in the schema means that a person may change the arguments.
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
