//! The context of an AG-UI run: everything that the handler finds before the first item.

use std::sync::Arc;

use madang::{
    CallId, SessionId, TurnId,
    approval::ApprovalRequest,
    error::TurnError,
    event::{EventCursor, TurnEnding},
    tool::ToolRegistry,
};
use serde_json::{Map, Value, json};

use super::messages::AgUiChat;
use crate::{ask::Ask, stream::frame::Frames};

/// The context of a run.
#[derive(Debug)]
pub(crate) struct AgUiRun {
    /// The session, which the protocol calls a thread.
    pub(crate) thread: SessionId,
    /// The id that the client gave the run.
    pub(crate) run: Arc<str>,
    /// The turn that is streamed. `None` if there is none.
    pub(crate) turn: Option<TurnId>,
    /// How the run begins.
    pub(crate) opening: RunOpening,
    /// The chat before the first item.
    pub(crate) chat: AgUiChat,
    /// How many messages of users, assistants and tools the client has.
    pub(crate) client_messages: usize,
    /// Whether the thread continues in a fork, whose ids may differ from those that the client has
    /// for the same texts.
    pub(crate) is_fork: bool,
    /// The position of the chat.
    pub(crate) cursor: EventCursor,
    /// The client's state, which is sent back with the server's key. `None` if it is not an object.
    pub(crate) state: Option<Map<String, Value>>,
    /// The calls about which the client decided too late.
    pub(crate) late: Vec<CallId>,
    /// The calls about which the client decided. If a request about one of them is sent again, it
    /// is closed.
    pub(crate) decided: Vec<CallId>,
    /// Who is asked about a call.
    pub(crate) ask: Ask,
    /// The tools that may be called.
    pub(crate) tools: Arc<ToolRegistry>,
    /// The most bytes of a piece of text in one frame.
    pub(crate) max_text_frame_bytes: usize,
}

/// How a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunOpening {
    /// The turn is streamed from its first event.
    Begun,
    /// The client has received a part of the turn before. A snapshot removes what is not stored.
    Joined,
}

/// The end of a run that has nothing to stream.
#[derive(Debug)]
pub(crate) enum RunEnd {
    /// The turn ended, or none runs.
    Success,
    /// The turn was dismissed.
    Cancelled,
    /// The turn waits for this approval.
    Waits(Box<ApprovalRequest>),
    /// The turn failed, with this error message and code.
    Failed {
        /// The error message.
        text: String,
        /// The error for programs.
        code: String,
    },
}

impl RunEnd {
    /// Returns how a run ends with its turn. `failed` makes the end of one that failed.
    pub(crate) fn of(ending: TurnEnding, failed: impl FnOnce() -> Self) -> Self {
        match ending {
            TurnEnding::Answered | TurnEnding::Stopped => Self::Success,
            TurnEnding::Dismissed => Self::Cancelled,
            TurnEnding::Failed => failed(),
        }
    }
}

/// Writes the end of a run that fails. It is the only event of a run that does not begin.
pub(crate) fn write_error(text: &str, code: &str, out: &mut Frames) {
    out.data(&json!({ "type": "RUN_ERROR", "message": text, "code": code }));
}

/// Returns the code of an error.
pub(crate) fn error_code(error: &TurnError) -> String {
    match error {
        TurnError::TooManyRounds => "too_many_rounds".into(),
        TurnError::Model { kind, .. } => format!("model/{kind}"),
        TurnError::CutOff => "cut_off".into(),
        _ => "failed".into(),
    }
}
