//! Writes the messages of a chat as AG-UI has them, for snapshots.
//!
//! Ids are the same in a snapshot and in a stream. A user's text has the client's own id, and a
//! text of the model has `<turn>:<entry>`. The message that carries one call has `call:<call>`, and
//! its outcome has `<call>:result`.

use std::{borrow::Cow, collections::VecDeque, sync::Arc};

use madang::{
    CallId, TurnId,
    approval::ApprovalRequest,
    event::{ChatMessage, Content},
    ledger::{CallRecord, CallResult, Effect, ResolvedCall},
    tool::{ToolOk, ToolOutcome},
};
use serde_json::{Map, Value, json};

use crate::{
    ServerLimits,
    stream::pieces::{data_within, json_bytes},
    surface::history::id_of,
};

/// A chat, as far as a run knows it.
#[derive(Debug)]
pub(crate) struct AgUiChat {
    /// The stored entries since the last clearing.
    entries: Vec<ChatMessage>,
    /// The calls that were shown and have not ended.
    open: Vec<OpenCall>,
    max_event_bytes: usize,
    max_bytes: usize,
}

/// A call that has not ended.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    pub(super) call: CallId,
    pub(super) name: Arc<str>,
    /// The arguments as text.
    pub(super) arguments: Arc<str>,
}

impl AgUiChat {
    /// Takes the last entries since the last clearing. A snapshot of them leaves out its oldest
    /// messages if it would be longer than a page of the chat.
    pub(crate) fn new(entries: Vec<ChatMessage>, limits: &ServerLimits) -> Self {
        Self {
            entries,
            open: Vec::new(),
            max_event_bytes: limits.max_event_bytes,
            max_bytes: limits.max_page_bytes,
        }
    }

    /// Adds the call of an open or decided approval request, which a snapshot shows without an
    /// outcome.
    #[must_use]
    pub(crate) fn waiting(mut self, request: &ApprovalRequest) -> Self {
        if !self.has_ended(request.call) {
            self.show(OpenCall {
                call: request.call,
                name: request.tool.clone(),
                arguments: request.arguments.to_string().into(),
            });
        }
        self
    }

    /// Returns how many messages a client has that knows all that was said before this turn.
    pub(super) fn len_before(&self, turn: Option<TurnId>) -> usize {
        let before = self.entries.iter().filter(|entry| Some(entry.turn) != turn);
        before.map(|entry| messages(entry, self).len()).sum()
    }

    /// Adds a stored entry. Does nothing if it has the entry already.
    pub(super) fn push(&mut self, entry: ChatMessage) {
        if self.entries.last().is_none_or(|last| last.seq < entry.seq) {
            if let Content::ToolCall(record) = &entry.content {
                self.open.retain(|open| open.call != record.id);
            }
            self.entries.push(entry);
        }
    }

    /// Forgets all entries, because the user cleared the chat.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Corrects the effect of a call.
    pub(super) fn resolve(&mut self, resolved: &ResolvedCall) {
        for entry in &mut self.entries {
            if let Content::ToolCall(record) = &mut entry.content
                && record.id == resolved.call
            {
                record.effect = resolved.resolution.effect();
                record.resolved_by = Some(resolved.by.clone());
            }
        }
    }

    /// Shows a call. Returns it if it was not shown before.
    pub(super) fn show(&mut self, call: OpenCall) -> Option<&OpenCall> {
        if self.open.iter().any(|open| open.call == call.call) {
            return None;
        }
        self.open.push(call);
        self.open.last()
    }

    /// Returns all messages, without the oldest ones if they do not fit.
    pub(super) fn snapshot(&self) -> VecDeque<Value> {
        let open = self.open.iter().rev();
        let open = open.map(|open| vec![carrier(open.call, &open.name, &open.arguments)]);
        let stored = self.entries.iter().rev().map(|entry| messages(entry, self));
        let mut all = VecDeque::new();
        let mut bytes = 0;
        for message in open.chain(stored).flat_map(|messages| messages.into_iter().rev()) {
            bytes += json_bytes(&message) + 1;
            if bytes > self.max_bytes {
                break;
            }
            all.push_front(message);
        }
        all
    }

    /// Returns the content of the message that has a call's outcome: the outcome as JSON. It also
    /// has the effect if the outcome does not say it, and the arguments if a person changed them.
    pub(super) fn outcome(&self, record: &CallRecord) -> String {
        let mut content = match &record.outcome {
            Some(ToolOutcome::Ok(ToolOk { data, metadata })) => {
                let data = data_within(record.id, data, self.max_event_bytes).into_owned();
                json!(ToolOutcome::Ok(ToolOk { data, metadata: metadata.clone() }))
            }
            Some(outcome @ (ToolOutcome::Err(_) | ToolOutcome::Cancelled(_))) => json!(outcome),
            None => Value::Object(Map::new()),
        };
        if let Cow::Owned(mut shortened) = data_within(record.id, &content, self.max_event_bytes) {
            shortened["status"] = content["status"].take();
            content = shortened;
        }
        if record.result == CallResult::Discarded {
            content["result"] = json!(record.result);
        }
        if record.effect == Effect::Unknown
            || record.result == CallResult::Discarded
            || record.resolved_by.is_some()
        {
            content["effect"] = json!(record.effect);
        }
        if record.asked.is_some() {
            content["arguments"] =
                data_within(record.id, &record.arguments, self.max_event_bytes).into_owned();
        }
        content.to_string()
    }

    fn has_ended(&self, call: CallId) -> bool {
        let is_end = |entry: &ChatMessage| matches!(&entry.content, Content::ToolCall(record) if record.id == call);
        self.entries.iter().any(is_end)
    }
}

/// Returns the id of the message that carries a call.
pub(super) fn carrier_id(call: CallId) -> String {
    format!("call:{call}")
}

/// Returns the id of the message with a call's outcome.
pub(super) fn result_id(call: CallId) -> String {
    format!("{call}:result")
}

/// Returns the arguments that the model asked for, as text. Those that a person typed are with the
/// outcome.
pub(super) fn wanted(record: &CallRecord) -> Arc<str> {
    let arguments = record.asked.as_ref().unwrap_or(&record.arguments);
    arguments.as_str().map_or_else(|| arguments.to_string().into(), Into::into)
}

fn carrier(call: CallId, name: &str, arguments: &str) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    let carried = json!({ "id": call, "type": "function", "function": function });
    json!({ "role": "assistant", "id": carrier_id(call), "toolCalls": [carried] })
}

fn messages(entry: &ChatMessage, chat: &AgUiChat) -> Vec<Value> {
    let id = id_of(entry);
    match &entry.content {
        Content::User { text, .. } => {
            vec![json!({ "role": "user", "id": id, "content": text })]
        }
        Content::Model { text, .. } if text.is_empty() => Vec::new(),
        Content::Model { text, .. } => {
            vec![json!({ "role": "assistant", "id": id, "content": text })]
        }
        Content::ToolCall(record) => vec![
            carrier(record.id, &record.name, &wanted(record)),
            json!({
                "role": "tool",
                "id": result_id(record.id),
                "toolCallId": record.id,
                "content": chat.outcome(record),
            }),
        ],
        Content::Notice { .. } | Content::Cleared => Vec::new(),
    }
}
