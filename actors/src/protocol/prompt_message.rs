//! One entry of the prompt that the model reads.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::CallId;

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
