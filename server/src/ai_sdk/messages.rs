//! Writes the messages of a chat as the AI SDK has them: for each turn one of the user and one of
//! the assistant.

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
use crate::{
    stream::pieces::data_within,
    surface::{
        approval_id::ApprovalId,
        history::{entry_id, id_of},
    },
};

/// A message of a chat.
#[derive(Debug, Serialize)]
pub(crate) struct AiUiMessage {
    id: String,
    role: &'static str,
    parts: Vec<Value>,
}

/// Returns the messages of these entries, with the open approval request of the last turn. Data
/// that is too large for an event is named in its place.
pub(crate) fn messages(
    entries: &[ChatMessage],
    waits: Option<(TurnId, &ApprovalRequest)>,
    max_event_bytes: usize,
) -> Vec<AiUiMessage> {
    let mut all = Messages::default();
    for entry in entries {
        match &entry.content {
            Content::User { text, .. } => {
                all.push(id_of(entry).into_owned(), "user", vec![self::text(text)]);
            }
            Content::Model { text, .. } if text.is_empty() => {}
            Content::Model { text, .. } => {
                let parts = all.of_assistant(entry.turn, entry.seq);
                let is_of_call = |part: &Value| part["type"] != "text" && *part != step();
                if parts.last().is_some_and(is_of_call) {
                    parts.push(step());
                }
                parts.push(self::text(text));
            }
            Content::ToolCall(record) => {
                let parts = all.of_assistant(entry.turn, entry.seq);
                parts.push(ended_call(record, max_event_bytes));
                if let Some(data) = call_note(record) {
                    parts
                        .push(json!({ "type": "data-madang-call", "id": record.id, "data": data }));
                }
            }
            Content::Notice { .. } | Content::Cleared => {}
        }
    }
    if let Some((turn, request)) = waits {
        let behind = entries.last().map_or(0, |entry| entry.seq) + 1;
        all.of_assistant(turn, behind).push(waiting(request));
    }
    all.list
}

/// The messages so far.
#[derive(Default)]
struct Messages {
    list: Vec<AiUiMessage>,
    /// The turn of the assistant's last message, and whether that is the last of all.
    told: Option<(TurnId, bool)>,
}

impl Messages {
    fn push(&mut self, id: String, role: &'static str, parts: Vec<Value>) {
        self.list.push(AiUiMessage { id, role, parts });
        if let Some((_, is_last)) = &mut self.told {
            *is_last = false;
        }
    }

    /// Returns the parts of the assistant's message to which this entry belongs: the last message
    /// of its turn, or a new one. A turn has one such message. Only a history that was imported as
    /// a turn has several, and each after the first has the id of its entry.
    fn of_assistant(&mut self, turn: TurnId, entry: u64) -> &mut Vec<Value> {
        if self.told != Some((turn, true)) {
            let is_second = self.told == Some((turn, false));
            let id = if is_second { entry_id(turn, entry) } else { turn.to_string() };
            self.push(id, "assistant", vec![step()]);
            self.told = Some((turn, true));
        }
        &mut self.list.last_mut().expect("one was pushed where none was there").parts
    }
}

fn ended_call(record: &CallRecord, max_event_bytes: usize) -> Value {
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
