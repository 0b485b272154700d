//! From the stored chat to what a person sees and what the model reads.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    CallId, CallRecord, ChatMessage, Content, Limits, Locale, ModelName, Notice, Text, ToolSpec,
    TurnId, bare_envelope, call_envelope,
};

/// One entry of the prompt that the model reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum PromptMessage {
    /// The user's message.
    User {
        /// The text as the user typed it.
        text: Arc<str>,
    },
    /// The model's message.
    Model {
        /// The text as the model wrote it.
        text: Arc<str>,
    },
    /// A call that the model made, always together with its result, because a call without its
    /// result breaks every chat template.
    ToolCall {
        /// The id of the call.
        call: CallId,
        /// The name of the tool.
        name: Arc<str>,
        /// The arguments, as JSON text.
        arguments: Arc<str>,
        /// The result, as the model reads it.
        envelope: Arc<str>,
        /// What the model that made the call wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Arc<str>>,
    },
}

impl PromptMessage {
    /// Counts the bytes of its texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::User { text } | Self::Model { text } => text.len(),
            Self::ToolCall { name, arguments, envelope, opaque, .. } => {
                let opaque = opaque.as_ref().map_or(0, |opaque| opaque.len());
                name.len() + arguments.len() + envelope.len() + opaque
            }
        }
    }
}

/// Returns the entries since the last clearing, which are what a person sees.
#[must_use]
pub fn visible(messages: &[ChatMessage]) -> &[ChatMessage] {
    let begin = messages
        .iter()
        .rposition(|message| message.content == Content::Cleared)
        .map_or(0, |mark| mark + 1);
    &messages[begin..]
}

/// Returns the prompt of a chat: the entries since the last clearing, without notices. If the
/// result of a call was discarded, the prompt says only whether it took effect. What a model other
/// than `model` wants back is left out.
#[must_use]
pub fn prompt(
    messages: &[ChatMessage],
    model: Option<&ModelName>,
    tools: &[ToolSpec],
    locale: Locale,
    limits: &Limits,
) -> Vec<PromptMessage> {
    let visible = visible(messages);
    let left_out: BTreeSet<TurnId> = visible.iter().filter_map(left_out).collect();
    let read = |message: &ChatMessage| {
        let is_left_out = left_out.contains(&message.turn);
        prompt_entry(message, is_left_out, model, tools, locale, limits)
    };
    visible.iter().filter_map(read).collect()
}

/// Returns the turn whose texts the model no longer reads, if this entry says so.
#[must_use]
pub fn left_out(message: &ChatMessage) -> Option<TurnId> {
    let says_so = message.content == Content::Notice { notice: Notice::TurnLeftOut };
    says_so.then_some(message.turn)
}

fn tool_of<'a>(record: &CallRecord, tools: &'a [ToolSpec]) -> Option<&'a ToolSpec> {
    tools.iter().find(|tool| tool.name == record.name)
}

/// Returns what the model reads of one entry, or `None` for a notice and a clearing. If the entry's
/// turn is left out, the model reads none of its text: only that there was a message, and whether
/// each call took effect. Opaque state goes only to the model that wrote it.
#[must_use]
pub fn prompt_entry(
    message: &ChatMessage,
    is_left_out: bool,
    model: Option<&ModelName>,
    tools: &[ToolSpec],
    locale: Locale,
    limits: &Limits,
) -> Option<PromptMessage> {
    match &message.content {
        Content::User { .. } if is_left_out => {
            Some(PromptMessage::User { text: Text::LeftOut.in_locale(locale).into() })
        }
        Content::Model { .. } if is_left_out => None,
        Content::ToolCall(record) if is_left_out => Some(PromptMessage::ToolCall {
            call: record.id,
            name: tool_of(record, tools)
                .map_or_else(|| "unknown_tool".into(), |tool| tool.name.clone()),
            arguments: "{}".into(),
            envelope: bare_envelope(record).into(),
            opaque: None,
        }),
        Content::User { text, .. } => Some(PromptMessage::User { text: text.clone() }),
        Content::Model { text, .. } => Some(PromptMessage::Model { text: text.clone() }),
        Content::ToolCall(record) => {
            let tool = tool_of(record, tools);
            let envelope = call_envelope(record, tool, locale, limits.max_envelope_bytes);
            // The model reads the call that it asked for. The envelope says what the user made of
            // it.
            let arguments = record.asked.as_ref().unwrap_or(&record.arguments);
            Some(PromptMessage::ToolCall {
                call: record.id,
                name: record.name.clone(),
                arguments: arguments.to_string().into(),
                envelope: envelope.into(),
                opaque: record.opaque.clone().filter(|_| record.model.as_ref() == model),
            })
        }
        Content::Notice { .. } | Content::Cleared => None,
    }
}
