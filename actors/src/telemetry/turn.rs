//! The span of a turn: its ids, its end, its cost.

use tokio::time::Instant;
use tracing::{Span, field::Empty, info_span};

use super::{metric, name};
use crate::protocol::{SessionId, TurnEnding, TurnError, TurnId, Usage, UserId};

/// The span of a turn. Completions and tool calls are its children, and it closes with the last of
/// them. A handler that continues past its deadline keeps it open, but the metrics report the
/// turn's own end.
#[derive(Debug)]
pub struct TurnSpan {
    span: Span,
    began: Instant,
    has_ended: bool,
}

impl TurnSpan {
    /// Begins the span of a turn that begins or continues.
    #[must_use]
    pub fn begin(session: &SessionId, user: &UserId, turn: TurnId, is_resumed: bool) -> Self {
        let span = info_span!(
            "invoke_agent",
            { name::OPERATION } = "invoke_agent",
            { name::CONVERSATION } = %session,
            { name::USER } = %user,
            { name::TURN } = %turn,
            { name::IS_RESUMED } = is_resumed,
            { name::ENDING } = Empty,
            { name::INPUT_TOKENS } = Empty,
            { name::CACHED_TOKENS } = Empty,
            { name::OUTPUT_TOKENS } = Empty,
            { name::ERROR } = Empty,
            { name::STATUS } = Empty,
        );
        Self { span, began: Instant::now(), has_ended: false }
    }

    /// Returns the parent span of its completions and calls.
    #[must_use]
    pub const fn span(&self) -> &Span {
        &self.span
    }

    /// Ends the span.
    pub fn ended(&mut self, ending: TurnEnding, error: Option<&TurnError>, usage: Usage) {
        record_usage(&self.span, usage);
        // The completion's span says why the model failed.
        self.end(ending.into(), error.map(Into::into));
    }

    fn end(&mut self, ending: &'static str, error: Option<&'static str>) {
        self.has_ended = true;
        self.span.record(name::ENDING, ending);
        record_error(&self.span, error);
        metric::turn_ended(ending, error, self.began.elapsed());
    }
}

impl Drop for TurnSpan {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end("left", None);
        }
    }
}

pub(super) fn record_usage(span: &Span, usage: Usage) {
    span.record(name::INPUT_TOKENS, usage.prompt_tokens);
    span.record(name::CACHED_TOKENS, usage.cached_tokens);
    span.record(name::OUTPUT_TOKENS, usage.completion_tokens);
}

pub(super) fn record_error(span: &Span, error: Option<&'static str>) {
    if let Some(error) = error {
        span.record(name::ERROR, error);
        span.record(name::STATUS, "ERROR");
    }
}
