//! Writes the parts of a message of the AI SDK about calls and approvals, in a form that its
//! versions 6 and 7 both read.

use madang::{
    approval::ApprovalRequest,
    ledger::{CallRecord, CallResult, Effect, ResolvedCall},
    tool::{CancelReason, ToolErr, ToolOk, ToolOutcome},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    stream::frame::Frames,
    surface::speech::{Part, PartFrames},
};

/// The end of a call as a client shows it.
#[derive(Debug, PartialEq)]
pub(super) enum AiOutput<'a> {
    Available(&'a Value),
    Error(String),
    /// A person denied it; the text is the same.
    Denied(String),
}

impl<'a> AiOutput<'a> {
    /// Returns what a client shows of a record. Only an explicit no of a person is a denial;
    /// silence is not.
    pub(super) fn of(record: &'a CallRecord) -> Self {
        match &record.outcome {
            None => {
                let text = "discarded: the turn was dismissed while the tool ran";
                Self::Error(text.into())
            }
            Some(ToolOutcome::Ok(ToolOk { data, .. })) => Self::Available(data),
            Some(ToolOutcome::Err(ToolErr { code, reason, .. })) => {
                Self::Error(format!("{code}: {reason}"))
            }
            Some(ToolOutcome::Cancelled(cancelled)) => {
                let text = format!("{}: {cancelled}", cancelled.reason.name());
                if cancelled.reason == CancelReason::Denied {
                    Self::Denied(text)
                } else {
                    Self::Error(text)
                }
            }
        }
    }
}

/// The frames of texts and of thinking.
#[derive(Debug)]
pub(super) struct AiParts;

impl PartFrames for AiParts {
    fn begin(&self, part: Part, id: &str, out: &mut Frames) {
        let kind = match part {
            Part::Text => "text-start",
            Part::Thinking => "reasoning-start",
        };
        out.data(&json!({ "type": kind, "id": id }));
    }

    fn delta(&self, part: Part, id: &str, delta: &str, out: &mut Frames) {
        let kind = match part {
            Part::Text => "text-delta",
            Part::Thinking => "reasoning-delta",
        };
        out.data(&json!({ "type": kind, "id": id, "delta": delta }));
    }

    fn end(&self, part: Part, id: &str, out: &mut Frames) {
        let kind = match part {
            Part::Text => "text-end",
            Part::Thinking => "reasoning-end",
        };
        out.data(&json!({ "type": kind, "id": id }));
    }
}

/// Writes a part that reports what happened. The client's message does not keep it.
pub(super) fn write_notice(data: impl Serialize, out: &mut Frames) {
    out.data(&json!({ "type": "data-madang-notice", "transient": true, "data": data }));
}

/// Returns the descriptor of an approval: the whole question, and when it ends.
pub(super) fn descriptor(request: &ApprovalRequest) -> Value {
    json!({ "text": request.text, "expires_at": request.expires_at })
}

/// Returns what a client must know of an ended call in addition to its output. Returns `None` if
/// the output says everything.
pub(super) fn call_note(record: &CallRecord) -> Option<Value> {
    let is_told = record.result == CallResult::Shown
        && record.effect != Effect::Unknown
        && record.resolved_by.is_none()
        && record.asked.is_none();
    if is_told {
        return None;
    }
    let mut note = json!({
        "call": record.id, "name": record.name, "effect": record.effect, "result": record.result,
    });
    if record.asked.is_some() {
        note["arguments"] = Value::clone(&record.arguments);
    }
    if let Some(by) = &record.resolved_by {
        note["resolved_by"] = json!(by);
    }
    Some(note)
}

/// Returns what a client must know of a call whose effect is known now.
pub(super) fn resolved_note(resolved: &ResolvedCall, text: &str) -> Value {
    let mut note = json!(resolved);
    note["text"] = json!(text);
    note
}

/// Reads the arguments as the model wrote them. If they are not JSON, they stay text.
pub(super) fn input(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()))
}

/// Returns the arguments that the model asked for.
pub(super) fn wanted(record: &CallRecord) -> &Value {
    record.asked.as_ref().unwrap_or(&record.arguments)
}
