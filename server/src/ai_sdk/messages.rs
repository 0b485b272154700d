//! The messages of a chat as the AI SDK has them: one of the user and one of the assistant for each turn.

use madang::{
    CallId, TurnId,
    approval::ApprovalRequest,
    event::{ChatMessage, Content},
    ledger::CallRecord,
    tool::{ToolCancelled, ToolOutcome},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::part::{AiOutput, call_note, descriptor, wanted};
use crate::{stream::pieces::data_within, surface::approval_id::ApprovalId};

/// A message of a chat.
#[derive(Debug, Serialize)]
pub(crate) struct AiUiMessage {
    id: String,
    role: &'static str,
    parts: Vec<Value>,
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
                parts: vec![self::text(text)],
            }),
            Content::Model { text, .. } if text.is_empty() => {}
            Content::Model { text, .. } => {
                let parts = assistant(&mut all, entry.turn);
                let is_of_call = |part: &Value| part["type"] != "text" && *part != step();
                if parts.last().is_some_and(is_of_call) {
                    parts.push(step());
                }
                parts.push(self::text(text));
            }
            Content::ToolCall(record) => {
                let parts = assistant(&mut all, entry.turn);
                parts.push(ended(record, max_event_bytes));
                if let Some(data) = call_note(record) {
                    parts
                        .push(json!({ "type": "data-madang-call", "id": record.id, "data": data }));
                }
            }
            Content::Notice { .. } | Content::Cleared => {}
        }
    }
    if let Some((turn, request)) = waits {
        assistant(&mut all, turn).push(waiting(request));
    }
    all
}

/// Finds the assistant's message of a turn, which is the last one or new.
fn assistant(all: &mut Vec<AiUiMessage>, turn: TurnId) -> &mut Vec<Value> {
    let id = turn.to_string();
    if all.last().is_none_or(|last| last.id != id) {
        all.push(AiUiMessage { id, role: "assistant", parts: vec![step()] });
    }
    &mut all.last_mut().expect("one was pushed where none was there").parts
}

fn ended(record: &CallRecord, max_event_bytes: usize) -> Value {
    let mut part = tool(record.id, &record.name, wanted(record));
    match AiOutput::of(record) {
        AiOutput::Available(data) => {
            part["state"] = "output-available".into();
            part["output"] = data_within(record.id, data, max_event_bytes).into_owned();
        }
        AiOutput::Error(text) => {
            part["state"] = "output-error".into();
            part["errorText"] = text.into();
        }
        AiOutput::Denied(_) => {
            part["state"] = "output-denied".into();
            part["approval"] = json!({ "id": record.id, "approved": false });
            if let Some(ToolOutcome::Cancelled(ToolCancelled { message: Some(reason), .. })) =
                &record.outcome
            {
                part["approval"]["reason"] = json!(reason);
            }
        }
    }
    part
}

fn waiting(request: &ApprovalRequest) -> Value {
    let mut part = tool(request.call, &request.tool, &request.arguments);
    part["state"] = "approval-requested".into();
    part["approval"] = json!({
        "id": ApprovalId::of(request).to_string(),
        "requestReason": request.consequence,
        "descriptor": descriptor(request),
    });
    part
}

fn tool(call: CallId, name: &str, input: &Value) -> Value {
    json!({
        "type": "dynamic-tool",
        "toolName": name,
        "toolCallId": call,
        "providerExecuted": true,
        "input": input,
    })
}

fn step() -> Value {
    json!({ "type": "step-start" })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text, "state": "done" })
}
