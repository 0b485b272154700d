//! The events of AG-UI, as its clients read them. Optional fields are absent, never null.

use std::{collections::VecDeque, sync::Arc};

use madang::{approval::ApprovalRequest, event::EventKind, model::Usage};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::messages::AgUiMessage;
use crate::stream::frame::Frames;
use crate::surface::{approval_id::ApprovalId, iso8601::iso8601, tool_table::ToolTable};

/// The version of the protocol that the events keep.
pub(super) const PROTOCOL_VERSION: &str = "1.0";

/// One event of a run.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub(super) enum AgUiEvent<'a> {
    RunStarted {
        thread_id: &'a str,
        run_id: &'a str,
        protocol_version: &'a str,
    },
    MessagesSnapshot {
        messages: VecDeque<AgUiMessage>,
    },
    StateSnapshot {
        snapshot: &'a Map<String, Value>,
    },
    TextMessageStart {
        message_id: &'a str,
        role: &'a str,
    },
    TextMessageContent {
        message_id: &'a str,
        delta: &'a str,
    },
    TextMessageEnd {
        message_id: &'a str,
    },
    ReasoningStart {
        message_id: &'a str,
    },
    ReasoningMessageStart {
        message_id: &'a str,
        role: &'a str,
    },
    ReasoningMessageContent {
        message_id: &'a str,
        delta: &'a str,
    },
    ReasoningMessageEnd {
        message_id: &'a str,
    },
    ReasoningEnd {
        message_id: &'a str,
    },
    ToolCallStart {
        tool_call_id: String,
        tool_call_name: &'a str,
        parent_message_id: String,
    },
    ToolCallArgs {
        tool_call_id: String,
        delta: &'a str,
    },
    ToolCallEnd {
        tool_call_id: String,
    },
    ToolCallResult {
        message_id: String,
        tool_call_id: String,
        content: String,
    },
    Custom {
        name: String,
        value: Value,
    },
    RunFinished {
        thread_id: &'a str,
        run_id: &'a str,
        outcome: RunOutcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<[TokenUsage; 1]>,
    },
    RunError {
        message: &'a str,
        code: &'a str,
    },
}

impl AgUiEvent<'_> {
    /// Writes an event of the session for which the protocol has no word.
    pub(super) fn write_custom(kind: &EventKind, out: &mut Frames) {
        let value = serde_json::to_value(kind).expect("an event has text keys");
        let name = value["type"].as_str().unwrap_or("event");
        out.data(&AgUiEvent::Custom { name: format!("madang.{name}"), value });
    }
}

/// The outcome of a run.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum RunOutcome {
    Success,
    Interrupt { interrupts: [Box<Interrupt>; 1] },
    Cancelled,
}

/// The cost of a run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenUsage {
    input_tokens: u32,
    output_tokens: u32,
    total_tokens: u64,
    cached_input_tokens: u32,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.prompt_tokens,
            output_tokens: usage.completion_tokens,
            total_tokens: u64::from(usage.prompt_tokens) + u64::from(usage.completion_tokens),
            cached_input_tokens: usage.cached_tokens,
        }
    }
}

/// An approval request, as an interrupt that a later run resumes. Its id has the digest; `editedArgs` in the schema is
/// the protocol's sign that a person may change the arguments.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Interrupt {
    id: String,
    reason: &'static str,
    tool_call_id: String,
    message: Arc<str>,
    expires_at: String,
    response_schema: Value,
    metadata: Value,
}

impl Interrupt {
    /// Makes the interrupt of a request.
    pub(super) fn new(request: &ApprovalRequest, tools: &ToolTable) -> Self {
        let any = json!({ "type": "object" });
        Self {
            id: ApprovalId::of(request).to_string(),
            reason: "tool_call",
            tool_call_id: request.call.to_string(),
            message: request.text.clone(),
            expires_at: iso8601(request.expires_at),
            response_schema: json!({
                "type": "object",
                "properties": {
                    "approved": { "type": "boolean" },
                    "editedArgs": tools.parameters(&request.tool).unwrap_or(&any),
                    "message": { "type": "string" },
                    "always": { "type": "boolean" },
                },
                "required": ["approved"],
            }),
            metadata: json!({ "madang": { "approval_request": request } }),
        }
    }
}
