//! One call of a model: what it is asked, what it streams, how it ends.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CompletionId, Locale, PromptMessage, SessionId, ToolSpec, UserId, WantedCall};

/// What a model is asked. `tool_choice` is always `auto`: the model decides whether it calls a tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CompletionRequest {
    /// Names the completion.
    pub id: CompletionId,
    /// The session that asks; a model may keep its prefix.
    pub session: SessionId,
    /// The user that asks; a fair queue counts by it.
    pub user: UserId,
    /// The system text, if the embedder gave one.
    pub system: Option<Arc<str>>,
    /// The chat so far.
    pub messages: Arc<Vec<PromptMessage>>,
    /// All tools that may be called.
    pub tools: Arc<[ToolSpec]>,
    /// The session's language.
    pub locale: Locale,
    /// The most tokens it may generate.
    pub max_tokens: u32,
}

impl CompletionRequest {
    /// Returns what the user said last; empty where there is no such message.
    #[must_use]
    pub fn last_user_text(&self) -> &str {
        let texts = self.messages.iter().rev().filter_map(|message| match message {
            PromptMessage::User { text, .. } => Some(&**text),
            PromptMessage::Model { .. } | PromptMessage::ToolCall { .. } => None,
        });
        texts.into_iter().next().unwrap_or_default()
    }

    /// Counts the bytes of the system text and of the messages. Writing the prompt takes as long as they are.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let system = self.system.as_ref().map_or(0, |text| text.len());
        system + self.messages.iter().map(PromptMessage::bytes).sum::<usize>()
    }
}

/// A piece of a completion, as it is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionDelta<'a> {
    /// The first token is there, whatever will come of it. A model need not say so where it streams text at once.
    Began,
    /// Text for the person.
    Text(&'a str),
    /// The model thinking aloud: kept in the event stream for those who want it, never part of the answer.
    Thinking(&'a str),
}

/// A completion that came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Completion {
    /// The text, without thinking and without tool calls.
    pub text: String,
    /// The tool calls, in order.
    pub tool_calls: Vec<WantedCall>,
    /// Why it ended.
    pub finish: FinishReason,
    /// What it cost.
    pub usage: Usage,
    /// So many messages of the chat, the oldest, had no room before the model and were left out.
    #[serde(default)]
    pub left_out: u32,
}

impl Completion {
    /// Makes a completion that says this and calls no tool.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model was done.
    #[default]
    Stop,
    /// It asks for tools.
    ToolCalls,
    /// It reached its bound on tokens or context.
    Length,
}

/// What a completion cost, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Of these, tokens that this very chat had read before and that were still known. Whether others asked the same is never
    /// counted here: it is nobody's business.
    pub cached_tokens: u32,
    /// Tokens that were generated.
    pub completion_tokens: u32,
}
