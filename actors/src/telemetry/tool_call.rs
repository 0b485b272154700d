//! The span of a tool call, from its dispatch to the answer, including the question to a person.

use std::sync::Arc;

use metrics::SharedString;
use tracing::{Span, field::Empty, info_span};

use super::{metric, name, turn::record_error, word};
use crate::protocol::{CallId, SessionId, ToolOutcome, TurnId, UserId};

/// The span of a tool call. If it is dropped without an end, it reports that the answer was lost.
#[derive(Debug)]
pub struct ToolCallSpan {
    span: Span,
    tool: SharedString,
    has_ended: bool,
}

/// The ids of a call.
#[derive(Debug, Clone, Copy)]
pub struct CallIds<'a> {
    /// The session of the call.
    pub session: &'a SessionId,
    /// The user whose data the call is about.
    pub user: &'a UserId,
    /// The turn of the call.
    pub turn: TurnId,
    /// The id of the call.
    pub call: CallId,
}

impl ToolCallSpan {
    /// Begins the span of a call that is dispatched. `tool` is its tool if it is registered.
    #[must_use]
    pub fn begin(parent: &Span, tool: Option<&Arc<str>>, whose: CallIds<'_>) -> Self {
        let tool = match tool {
            Some(tool) => SharedString::from(tool.clone()),
            None => SharedString::const_str(name::UNKNOWN_TOOL),
        };
        let span = info_span!(
            parent: parent,
            "execute_tool",
            { name::SHOWN_AS } = format_args!("execute_tool {tool}"),
            { name::OPERATION } = "execute_tool",
            { name::CONVERSATION } = %whose.session,
            { name::USER } = %whose.user,
            { name::TURN } = %whose.turn,
            { name::TOOL } = %tool,
            { name::CALL } = %whose.call,
            { name::OUTCOME } = Empty,
            { name::ERROR } = Empty,
            { name::STATUS } = Empty,
        );
        Self { span, tool, has_ended: false }
    }

    /// Returns the span in which the call does its work.
    #[must_use]
    pub const fn span(&self) -> &Span {
        &self.span
    }

    /// Ends the span with the outcome that the caller receives, or `None` if the result was
    /// discarded.
    pub fn ended(mut self, outcome: Option<&ToolOutcome>) {
        let (how, error) = match outcome {
            None => ("discarded", None),
            Some(ToolOutcome::Ok(_)) => ("ok", None),
            Some(ToolOutcome::Err(error)) => ("error", Some(word(&error.code))),
            Some(ToolOutcome::Cancelled(cancelled)) => (cancelled.reason.name(), None),
        };
        self.end(how);
        record_error(&self.span, error);
        metric::tool_call_ended(&self.tool, how, error);
    }

    /// Ends the span of a call that had not begun, and stays as it is in the ledger.
    pub fn left(mut self) {
        self.end("left");
    }

    fn end(&mut self, outcome: &'static str) {
        self.has_ended = true;
        self.span.record(name::OUTCOME, outcome);
    }
}

impl Drop for ToolCallSpan {
    fn drop(&mut self) {
        if !self.has_ended {
            record_error(&self.span, Some(name::LOST));
        }
    }
}
