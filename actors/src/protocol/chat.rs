//! One entry of a chat.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CallRecord, Timestamp, TurnId};

/// One entry of a chat. Entries are numbered from 1 without gaps within their session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Its place in the transcript.
    pub seq: u64,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// When it was appended.
    pub at: Timestamp,
    /// What it says.
    #[serde(flatten)]
    pub content: Content,
}

/// What an entry of a chat says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Content {
    /// What the user typed.
    User {
        /// The text.
        text: Arc<str>,
    },
    /// What the model said.
    Model {
        /// The text.
        text: Arc<str>,
        /// Whether it came to its end.
        ending: Ending,
    },
    /// A tool call with its outcome.
    ToolCall(Box<CallRecord>),
    /// A notice by the system.
    Notice {
        /// Which.
        notice: Notice,
    },
    /// The user cleared the chat: state and model begin after this mark; what came before stays stored.
    Cleared,
}

/// Whether a model's text came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It did.
    Complete,
    /// The model failed, or the turn was dismissed: what had been streamed is kept.
    Interrupted,
}

/// A notice by the system; its words stand in [`Text`](super::Text).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// More than eight user turns since the last clearing.
    SuggestClear,
    /// A call of a tool outside the store was cut off by the end of its process: nobody but a person can find out
    /// whether it took effect.
    EffectUnknown,
    /// The turn ended the process that ran it, again and again: the model is not asked with its texts any more.
    TurnLeftOut,
    /// An entry that stood here cannot be read: something beside this program has changed it.
    Unreadable,
}
