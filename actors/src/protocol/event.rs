//! The events of a session, as its subscribers receive them. This is also the vocabulary of
//! `madang chat --json`.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{
    ApprovalEnd, ApprovalRequest, CallId, CallRecord, Ending, EntryOrigin, IdempotencyKey, Locale,
    ModelName, Notice, PromptSize, ResolvedCall, Text, Timestamp, TurnId, Usage, WantedCall,
    as_text,
};

/// One event of a session: `{"type":..,"seq":..,..}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionEvent {
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
    /// The event's number within its session, from 1, without gaps while the session is in memory.
    /// It is 0 for an event that was read from the store.
    pub seq: u64,
    /// The position of this event. A reader that reconnects subscribes after it.
    pub cursor: EventCursor,
    /// The turn that the event belongs to.
    pub turn: TurnId,
    /// The time of the event.
    pub at: Timestamp,
}

/// The position of a reader in the stored events of a session: after an entry of the transcript, or
/// after the end of the turn whose last entry that is. It stays the same over sleep and restarts.
/// As text it is `17`, `17.1` (after the error that ended the turn) or `17.2` (after the turn's
/// end).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct EventCursor {
    entry: u64,
    step: u8,
}

impl EventCursor {
    /// The position before the first entry.
    pub const START: Self = Self { entry: 0, step: 0 };

    /// Returns the position after this entry of the transcript.
    #[must_use]
    pub const fn of_entry(seq: u64) -> Self {
        Self { entry: seq, step: 0 }
    }

    /// Returns the number of the last entry before it, or 0 if there is none.
    #[must_use]
    pub const fn entry(self) -> u64 {
        self.entry
    }

    /// Returns the position before its entry. A reader that subscribes after it reads the entry
    /// first.
    #[must_use]
    pub const fn before(self) -> Self {
        match self.entry.checked_sub(1) {
            None | Some(0) => Self::START,
            Some(entry) => Self::of_entry(entry).end(),
        }
    }

    /// Returns the position after the error that ends the turn of this entry.
    #[must_use]
    pub const fn error(self) -> Self {
        Self { entry: self.entry, step: 1 }
    }

    /// Returns the position after the end of the turn of this entry.
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

/// A text that is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cursor is ENTRY, ENTRY.1 or ENTRY.2, optionally followed by @FEED.NUMBER")]
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

as_text!(EventCursor, InvalidCursor);

/// The kinds of event of a session. A message or outcome is published only after the store has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A turn began with the user's message, or an import brought one.
    UserMessage {
        /// The text as the user typed it.
        text: Arc<str>,
        /// The key under which it was submitted, by which its client recognises it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<IdempotencyKey>,
        /// The source of the text.
        #[serde(default, skip_serializing_if = "EntryOrigin::is_chat")]
        origin: EntryOrigin,
    },
    /// The model ended a message, or an import brought one.
    ModelMessage {
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
    /// The model asks for a tool.
    ToolCallProposed {
        /// The id that the runtime chose for the call.
        call: CallId,
        /// The model that asks, if it has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<ModelName>,
        /// The name and the raw arguments, as the model wrote them.
        #[serde(flatten)]
        wanted: WantedCall,
    },
    /// A person is asked about a call.
    ApprovalRequested {
        /// The request as it is shown.
        #[serde(flatten)]
        request: ApprovalRequest,
    },
    /// An approval request is closed.
    ApprovalEnded {
        /// The call of the request.
        call: CallId,
        /// The decision, or why there is none.
        #[serde(flatten)]
        end: ApprovalEnd,
    },
    /// A tool call ended, in exactly one outcome.
    ToolCallEnded {
        /// The call with its arguments, outcome and effect.
        #[serde(flatten)]
        record: Box<CallRecord>,
    },
    /// The effect of an ended call was unknown and is known now. Its turn may have ended long ago.
    ToolCallResolved {
        /// The call, the effect, and the handler or person that found out.
        #[serde(flatten)]
        resolved: ResolvedCall,
        /// The resolution as a sentence.
        text: String,
    },
    /// The runtime informs the user.
    SystemNotice {
        /// The kind of notice.
        notice: Notice,
        /// The sentence in the session's language.
        text: String,
    },
    /// The turn ends with an error. The session can be used further.
    Error {
        /// The cause of the end.
        error: TurnError,
        /// The sentence in the session's language.
        text: String,
    },
    /// The user cleared the chat.
    Cleared,
    /// The chat had become too long for the model, which answered without its oldest messages.
    MessagesLeftOut {
        /// The number of messages left out.
        messages: u32,
        /// The number as a sentence.
        text: String,
    },
    /// The turn continues after its process ended, its session's actor was lost, or the store
    /// refused a write. Text that was streamed and not stored is discarded, and the model is asked
    /// again.
    TurnResumed,
    /// The turn cannot continue for now. If it lost its actor and the store fails, it continues
    /// after the store answers again ([`TurnResumed`](Self::TurnResumed)), or its end follows. If
    /// the runtime has no model, the turn stays open for a start with one.
    TurnInterrupted {
        /// The same as a sentence.
        text: String,
    },
    /// The turn is over.
    TurnEnded {
        /// How the turn ended.
        ending: TurnEnding,
        /// The cost of all its completions.
        usage: Usage,
    },
}

/// The end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TurnEnding {
    /// The model answered.
    Answered,
    /// A tool asked for the end (`stop_loop`).
    Stopped,
    /// The turn failed.
    Failed,
    /// The user dismissed the turn.
    Dismissed,
}

/// A reason why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum TurnError {
    /// The model asked for tools in every round.
    TooManyRounds,
    /// The model failed.
    Model {
        /// The kind: `Timeout`, `Overloaded`, `EngineDied`, `BadOutput`, `ScriptExhausted`, or what
        /// the model named.
        kind: String,
        /// Milliseconds after which to try again, if the model is overloaded and the time is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        /// The message of the model's provider: foreign text, short and without the key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
        /// The sizes of the prompt's parts, if it was too long for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptSize>,
    },
    /// The turn was cut off again and again, because its process or its session's actor ended, or
    /// its temporary chat was erased.
    CutOff,
}

impl TurnError {
    /// Makes the failure of a model, by its kind.
    #[must_use]
    pub fn model(kind: impl Into<String>) -> Self {
        Self::Model { kind: kind.into(), retry_after_ms: None, said: None, prompt: None }
    }

    /// Returns the reason as a sentence for a person.
    #[must_use]
    pub fn in_locale(&self, locale: Locale) -> String {
        let text = match self {
            Self::TooManyRounds => Text::TooManyRounds,
            Self::Model { kind, said, prompt, .. } => {
                let text = match prompt {
                    Some(size) => Text::PromptTooLong(size),
                    None => Text::ModelFailed(kind),
                };
                let text = text.in_locale(locale);
                return match said {
                    Some(said) => format!("{text} “{said}”"),
                    None => text,
                };
            }
            Self::CutOff => Text::TurnCutOff,
        };
        text.in_locale(locale)
    }
}
