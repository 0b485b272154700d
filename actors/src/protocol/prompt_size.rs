//! The sizes of the parts of a prompt: which of them made it too long for its model.

use serde::{Deserialize, Serialize};

/// The sizes of the parts of a prompt that was too long, in bytes. A token is some three or four of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptSize {
    /// The number of tools that are offered.
    pub tools: u64,
    /// The bytes of their names, descriptions and schemas.
    pub tools_bytes: u64,
    /// The bytes of the system text and of the turn's instructions.
    pub system_bytes: u64,
    /// The bytes of the chat before the user's last message.
    pub history_bytes: u64,
    /// The bytes of the user's last message.
    pub message_bytes: u64,
    /// The bytes of what the model and the tools have said since.
    pub results_bytes: u64,
}

/// A part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptPart {
    /// The descriptions of the tools.
    Tools,
    /// The system text.
    System,
    /// The chat before the user's last message.
    History,
    /// The user's last message.
    Message,
    /// What the model and the tools have said since.
    Results,
}

impl PromptSize {
    /// Returns the part to make smaller. An eighth of the chat before is counted, because a model
    /// leaves out the rest of it by itself.
    #[must_use]
    pub fn largest(&self) -> PromptPart {
        let parts = [
            (PromptPart::History, self.history_bytes / KEPT),
            (PromptPart::Results, self.results_bytes),
            (PromptPart::Message, self.message_bytes),
            (PromptPart::System, self.system_bytes),
            (PromptPart::Tools, self.tools_bytes),
        ];
        let largest = parts.into_iter().max_by_key(|(_, bytes)| *bytes);
        largest.map_or(PromptPart::Tools, |(part, _)| part)
    }
}

/// The part of the chat that a model may keep when it leaves out the oldest messages.
const KEPT: u64 = 8;
