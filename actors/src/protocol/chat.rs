//! The entries of a chat.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CallRecord, IdempotencyKey, ModelName, Timestamp, TurnId};

/// One entry of a chat. Entries are numbered from 1 without gaps within their session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatMessage {
    /// The number of the entry in the transcript.
    pub seq: u64,
    /// The turn that the entry belongs to.
    pub turn: TurnId,
    /// The time at which it was appended.
    pub at: Timestamp,
    /// The content of the entry.
    #[serde(flatten)]
    pub content: Content,
}

/// The content of an entry of a chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Content {
    /// The user's message.
    User {
        /// The text as the user typed it.
        text: Arc<str>,
        /// The key under which it was submitted, by which its client recognises it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<IdempotencyKey>,
        /// The source of the text.
        #[serde(default, skip_serializing_if = "EntryOrigin::is_chat")]
        origin: EntryOrigin,
    },
    /// The model's message.
    Model {
        /// The text as the model wrote it.
        text: Arc<str>,
        /// Whether the text came to its end.
        ending: Ending,
        /// The model that wrote it, if it has a name. Absent for an imported text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<ModelName>,
        /// The source of the text.
        #[serde(default, skip_serializing_if = "EntryOrigin::is_chat")]
        origin: EntryOrigin,
    },
    /// A tool call with its outcome.
    ToolCall(Box<CallRecord>),
    /// A notice by the system.
    Notice {
        /// The kind of notice.
        notice: Notice,
    },
    /// The user cleared the chat. The view and the prompt begin after this mark, and what came
    /// before stays stored.
    Cleared,
}

impl ChatMessage {
    /// Returns the turn whose texts the model no longer reads, if this entry says so.
    #[must_use]
    pub fn left_out(&self) -> Option<TurnId> {
        let says_so = self.content == Content::Notice { notice: Notice::TurnLeftOut };
        says_so.then_some(self.turn)
    }
}

impl Content {
    /// Makes a message that the user typed in this chat and submitted without a key.
    #[must_use]
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self::User { text: text.into(), key: None, origin: EntryOrigin::Chat }
    }

    /// Makes a message that a model without a name wrote in this chat.
    #[must_use]
    pub fn model(text: impl Into<Arc<str>>, ending: Ending) -> Self {
        Self::said_by(None, text, ending)
    }

    /// Makes a message that this model wrote in this chat.
    #[must_use]
    pub fn said_by(model: Option<ModelName>, text: impl Into<Arc<str>>, ending: Ending) -> Self {
        Self::Model { text: text.into(), ending, model, origin: EntryOrigin::Chat }
    }
}

/// The source of a user's or a model's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryOrigin {
    /// The user typed it in this chat, or a model of the runtime wrote it here.
    #[default]
    #[cfg_attr(feature = "schema", schemars(skip))] // as JSON it is never said
    Chat,
    /// An imported message. The application is responsible for it; the runtime did not see it
    /// happen. The model reads it like any other text.
    Imported,
}

impl EntryOrigin {
    /// Returns whether the text was said in this chat. As JSON, an entry names only other origins.
    #[must_use]
    pub const fn is_chat(&self) -> bool {
        matches!(self, Self::Chat)
    }
}

/// Whether a model's text is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The text is complete.
    Complete,
    /// The model failed, or the turn was dismissed. The text that was streamed is kept.
    Interrupted,
}

/// A notice by the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// More user turns have passed since the last clearing than `Limits::suggest_clear_after`.
    SuggestClear,
    /// A tool that works outside of the store was cut off by the end of its process. Only a person
    /// can find out whether the call took effect.
    EffectUnknown,
    /// The turn ended the process that ran it again and again, so the model no longer reads its
    /// texts.
    TurnLeftOut,
    /// The entry cannot be read, because another program has changed it.
    Unreadable,
    /// The texts before this entry were copied from another chat. What tools did there was not done
    /// again, and is not undone.
    Forked,
}
