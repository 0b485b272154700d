//! The messages of a chat as the AI SDK has them: one of the user and one of the assistant for each turn.

use std::sync::Arc;

use madang::{
    CallId, TurnId,
    approval::ApprovalRequest,
    event::{ChatMessage, Content},
    ledger::CallRecord,
};
use serde::Serialize;
use serde_json::Value;

use super::part::{AiOutput, approval_id, call_note, descriptor, wanted};
use crate::surface::outcome::data_within;

/// A message of a chat.
#[derive(Debug, Serialize)]
pub(crate) struct AiUiMessage {
    id: String,
    role: &'static str,
    parts: Vec<AiUiPart>,
}

/// A part of a message.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum AiUiPart {
    StepStart,
    Text { text: Arc<str>, state: &'static str },
    DynamicTool(Box<AiUiTool>),
    DataMadangCall { id: CallId, data: Value },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AiUiTool {
    tool_name: Arc<str>,
    tool_call_id: CallId,
    provider_executed: bool,
    input: Value,
    #[serde(flatten)]
    state: AiUiState,
}

#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum AiUiState {
    ApprovalRequested { approval: Approval },
    OutputAvailable { output: Value },
    OutputError { error_text: String },
    OutputDenied { approval: Approval },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Approval {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_reason: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    descriptor: Option<Value>,
}

/// Gives the messages of these entries, and the open approval request of the last turn. Data that is too large for an
/// event is named in its place.
pub(crate) fn messages(
    entries: &[ChatMessage],
    waits: Option<(TurnId, &ApprovalRequest)>,
    max_event_bytes: usize,
) -> Vec<AiUiMessage> {
    let mut all = Vec::new();
    for entry in entries {
        match &entry.content {
            Content::User { text, key, .. } => all.push(AiUiMessage {
                // The client's own id, which it sent as the key.
                id: key
                    .as_ref()
                    .map_or_else(|| format!("{}:{}", entry.turn, entry.seq), ToString::to_string),
                role: "user",
                parts: vec![AiUiPart::Text { text: text.clone(), state: "done" }],
            }),
            Content::Model { text, .. } if text.is_empty() => {}
            Content::Model { text, .. } => {
                let parts = assistant(&mut all, entry.turn);
                let is_behind_calls = parts.last().is_some_and(|part| {
                    matches!(part, AiUiPart::DynamicTool(_) | AiUiPart::DataMadangCall { .. })
                });
                if is_behind_calls {
                    parts.push(AiUiPart::StepStart);
                }
                parts.push(AiUiPart::Text { text: text.clone(), state: "done" });
            }
            Content::ToolCall(record) => {
                let parts = assistant(&mut all, entry.turn);
                parts.push(AiUiPart::DynamicTool(ended(record, max_event_bytes).into()));
                if let Some(data) = call_note(record) {
                    parts.push(AiUiPart::DataMadangCall { id: record.id, data });
                }
            }
            Content::Notice { .. } | Content::Cleared => {}
        }
    }
    if let Some((turn, request)) = waits {
        assistant(&mut all, turn).push(AiUiPart::DynamicTool(waiting(request).into()));
    }
    all
}

/// Finds the assistant's message of a turn, which is the last one or new.
fn assistant(all: &mut Vec<AiUiMessage>, turn: TurnId) -> &mut Vec<AiUiPart> {
    let id = turn.to_string();
    if all.last().is_none_or(|last| last.id != id) {
        all.push(AiUiMessage { id, role: "assistant", parts: vec![AiUiPart::StepStart] });
    }
    &mut all.last_mut().expect("one was pushed where none was there").parts
}

fn ended(record: &CallRecord, max_event_bytes: usize) -> AiUiTool {
    let state = match AiOutput::of(record) {
        AiOutput::Available(data) => AiUiState::OutputAvailable {
            output: data_within(record.id, data, max_event_bytes).into_owned(),
        },
        AiOutput::Error(error_text) => AiUiState::OutputError { error_text },
        AiOutput::Denied(_) => AiUiState::OutputDenied { approval: denial(record) },
    };
    tool(record.id, record.name.clone(), wanted(record).into_owned(), state)
}

fn denial(record: &CallRecord) -> Approval {
    use madang::tool::{ToolCancelled, ToolOutcome};
    let reason = match &record.outcome {
        Some(ToolOutcome::Cancelled(ToolCancelled { message, .. })) => message.clone(),
        Some(ToolOutcome::Ok(_) | ToolOutcome::Err(_)) | None => None,
    };
    let (id, approved) = (record.id.to_string(), Some(false));
    Approval { id, approved, reason, request_reason: None, descriptor: None }
}

fn waiting(request: &ApprovalRequest) -> AiUiTool {
    let approval = Approval {
        id: approval_id(request),
        approved: None,
        reason: None,
        request_reason: Some(request.consequence.clone()),
        descriptor: Some(descriptor(request)),
    };
    let state = AiUiState::ApprovalRequested { approval };
    tool(request.call, request.tool.clone(), request.arguments.clone(), state)
}

fn tool(call: CallId, name: Arc<str>, input: Value, state: AiUiState) -> AiUiTool {
    AiUiTool { tool_name: name, tool_call_id: call, provider_executed: true, input, state }
}
