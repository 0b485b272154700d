//! What happens in a session, as its subscribers see it. This is also the vocabulary of `madang chat --json`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    CallId, CallRecord, CancelReason, Decision, Ending, Notice, Question, SettledCall, Timestamp,
    TurnId, Usage, WantedCall,
};

/// One event of a session: `{"type":..,"seq":..,..}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEvent {
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
    /// The event's number within its session, from 1, without gaps while the runtime lives.
    pub seq: u64,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// When it happened.
    pub at: Timestamp,
}

/// What happened in a session. A message or outcome is told only after the store has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
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
    ToolCallSettled {
        /// Which call, what was found out, and by whom.
        #[serde(flatten)]
        settled: SettledCall,
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
pub enum TurnError {
    /// The model asked for tools in every round (seed 001).
    TooManyRounds,
    /// The model failed.
    Model {
        /// `Timeout`, `Overloaded`, `EngineDied`, `BadOutput`, `ScriptExhausted`, or what the model named.
        kind: String,
    },
    /// The store could not keep the chat.
    Store,
    /// It was cut off by the end of its process, again and again or without its chat.
    CutOff,
}
