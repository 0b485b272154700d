//! What happens in a session, as its subscribers see it. This is also the vocabulary of `madang chat --json`.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    CallId, CallRecord, CancelReason, Decision, Ending, Notice, Question, ResolvedCall, Timestamp,
    TurnId, Usage, WantedCall,
};

/// One event of a session: `{"type":..,"seq":..,..}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEvent {
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
    /// The event's number within its session, from 1, without gaps while the session is in memory; 0 for one that was read
    /// from the store.
    pub seq: u64,
    /// How far a reader of this event has read: a reader that comes back subscribes after it.
    pub cursor: EventCursor,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// When it happened.
    pub at: Timestamp,
}

/// Marks how far a reader has read what the store keeps of a session: behind an entry of the transcript, or behind the end of the turn whose
/// last entry that is. It stays the same over sleep and restart. As text `17`, `17.1` (behind the error that ended the
/// turn) or `17.2` (behind the turn's end).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct EventCursor {
    entry: u64,
    step: u8,
}

impl EventCursor {
    /// Before everything.
    pub const START: Self = Self { entry: 0, step: 0 };

    /// Behind this entry of the transcript.
    #[must_use]
    pub const fn of_entry(seq: u64) -> Self {
        Self { entry: seq, step: 0 }
    }

    /// The number of the last entry before it; 0 for none.
    #[must_use]
    pub const fn entry(self) -> u64 {
        self.entry
    }

    /// Behind the error that ends the turn of this entry.
    #[must_use]
    pub const fn error(self) -> Self {
        Self { entry: self.entry, step: 1 }
    }

    /// Behind the end of the turn of this entry.
    #[must_use]
    pub const fn end(self) -> Self {
        Self { entry: self.entry, step: 2 }
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            0 => write!(f, "{}", self.entry),
            step => write!(f, "{}.{step}", self.entry),
        }
    }
}

/// Says that a text is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cursor is the number of an entry, and behind a dot 1 or 2")]
pub struct InvalidCursor;

impl FromStr for EventCursor {
    type Err = InvalidCursor;
    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (entry, step) = text.split_once('.').unwrap_or((text, "0"));
        let step = ["0", "1", "2"].iter().zip(0..).find(|(name, _)| **name == step);
        let entry = entry.parse().map_err(|_| InvalidCursor)?;
        Ok(Self { entry, step: step.ok_or(InvalidCursor)?.1 })
    }
}

impl From<EventCursor> for String {
    fn from(cursor: EventCursor) -> Self {
        cursor.to_string()
    }
}

impl TryFrom<String> for EventCursor {
    type Error = InvalidCursor;
    fn try_from(text: String) -> Result<Self, InvalidCursor> {
        text.parse()
    }
}

/// What happened in a session. A message or outcome is told only after the store has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A turn began with the user's message.
    UserMessage {
        /// The text.
        text: Arc<str>,
    },
    /// The model said something.
    ModelMessage {
        /// The text.
        text: Arc<str>,
        /// Whether it came to its end.
        ending: Ending,
    },
    /// The model asks for a tool.
    ToolCallProposed {
        /// The id that the runtime gave the call.
        call: CallId,
        /// Name and raw arguments.
        #[serde(flatten)]
        wanted: WantedCall,
    },
    /// A person is asked.
    ConfirmationAsked {
        /// The question.
        #[serde(flatten)]
        question: Question,
    },
    /// A question is not open any more.
    ConfirmationEnded {
        /// The call that waited.
        call: CallId,
        /// The decision, or why there is none.
        #[serde(flatten)]
        end: ConfirmationEnd,
    },
    /// A tool call ended, in exactly one outcome.
    ToolCallEnded {
        /// The call, its arguments, outcome and effect.
        #[serde(flatten)]
        record: Box<CallRecord>,
    },
    /// The effect of a call that had ended was unknown, and is known now. Its turn may long be over.
    ToolCallResolved {
        /// Which call, what was found out, and by whom.
        #[serde(flatten)]
        resolved: ResolvedCall,
        /// The same in words.
        text: String,
    },
    /// The system says something.
    SystemNotice {
        /// Which notice.
        notice: Notice,
        /// Its words in the session's language.
        text: String,
    },
    /// The turn ends with an error, after which the session goes on.
    Error {
        /// What went wrong.
        error: TurnError,
        /// Its words in the session's language.
        text: String,
    },
    /// The user cleared the chat.
    Cleared,
    /// The chat had become too long for the model: it answered without the oldest of its messages.
    MessagesLeftOut {
        /// How many.
        messages: u32,
        /// The same in words.
        text: String,
    },
    /// The turn goes on after its process had ended.
    TurnResumed,
    /// The turn is over.
    TurnEnded {
        /// How.
        ending: TurnEnding,
        /// What its completions cost in all.
        usage: Usage,
    },
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmationEnd {
    /// A person decided.
    Decided {
        /// What.
        #[serde(flatten)]
        decision: Decision,
    },
    /// Nobody did.
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnding {
    /// With the model's answer.
    Answered,
    /// A tool asked for the end (`stop_loop`).
    Stopped,
    /// With an error.
    Failed,
    /// The screen was dismissed.
    Dismissed,
}

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnError {
    /// The model asked for tools in every round.
    TooManyRounds,
    /// The model failed.
    Model {
        /// `Timeout`, `Overloaded`, `EngineDied`, `BadOutput`, `ScriptExhausted`, or what the model named.
        kind: String,
        /// Milliseconds after which to try again, where the model has too much to do and that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// The store could not keep the chat.
    Store,
    /// It was cut off by the end of its process, again and again or without its chat.
    CutOff,
}

impl TurnError {
    /// The model failed in this way.
    #[must_use]
    pub fn model(kind: impl Into<String>) -> Self {
        Self::Model { kind: kind.into(), retry_after_ms: None }
    }
}
