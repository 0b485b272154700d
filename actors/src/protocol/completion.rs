//! One completion: what the model reads, what it streams, how it ends.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{CompletionId, LanguageTag, PromptMessage, SessionId, ToolSpec, UserId, WantedCall};

/// A request for a completion. The model decides whether it calls a tool (`tool_choice` is always
/// `auto`).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CompletionRequest {
    /// The id of the completion.
    pub id: CompletionId,
    /// The session that asks. A model may keep its prefix.
    pub session: SessionId,
    /// The user that asks. A fair queue counts by user.
    pub user: UserId,
    /// The system text, if the application has one.
    pub system: Option<Arc<str>>,
    /// The instructions of the turn, which come directly after the system text. They are the
    /// user's: a model that shares the beginning of prompts between users must not share them.
    #[serde(default)]
    pub instructions: Option<Arc<str>>,
    /// The messages of the chat so far.
    pub messages: Arc<Vec<PromptMessage>>,
    /// The tools that may be called.
    pub tools: Arc<[ToolSpec]>,
    /// The session's language.
    pub language: LanguageTag,
    /// The most tokens it may generate.
    pub max_tokens: u32,
}

impl CompletionRequest {
    /// Returns the user's latest message, or an empty text if there is none.
    #[must_use]
    pub fn last_user_text(&self) -> &str {
        let texts = self.messages.iter().rev().filter_map(|message| match message {
            PromptMessage::User { text, .. } => Some(&**text),
            PromptMessage::Model { .. } | PromptMessage::ToolCall { .. } => None,
        });
        texts.into_iter().next().unwrap_or_default()
    }

    /// Counts the bytes of the system text, the instructions and the messages. The time that it
    /// takes to write the prompt grows with them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let before = [&self.system, &self.instructions];
        let before: usize = before.into_iter().flatten().map(|text| text.len()).sum();
        before + self.messages.iter().map(PromptMessage::bytes).sum::<usize>()
    }
}

/// A piece of a completion, as it is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionDelta<'a> {
    /// The first token is there, whatever follows. A model that streams text at once need not send
    /// this.
    Began,
    /// Text for the person.
    Text(&'a str),
    /// The model's thinking. It is published as events, and is never a part of the answer.
    Thinking(&'a str),
}

/// A completion that has come to its end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Completion {
    /// The text, without thinking and without tool calls.
    pub text: String,
    /// The tool calls, in order. If `finish` is [`FinishReason::Length`], the last of them was cut
    /// off and does not run.
    pub tool_calls: Vec<WantedCall>,
    /// The reason why it ended.
    pub finish: FinishReason,
    /// The tokens that it cost.
    pub usage: Usage,
    /// The number of messages, the oldest of the chat, that were left out because the model had no
    /// room for them.
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

/// A reason why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended its answer.
    #[default]
    Stop,
    /// The model asks for tools.
    ToolCalls,
    /// The completion reached its bound on tokens or context.
    Length,
}

/// The cost of a completion, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// The tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of the prompt that this very chat had read before and that were still cached. Tokens
    /// shared with other chats are not counted here, because they would reveal something about
    /// another user.
    pub cached_tokens: u32,
    /// The tokens that were generated.
    pub completion_tokens: u32,
}
