//! The span of a completion, from its request to its end, including its wait for the model.

use std::sync::{Arc, OnceLock};

use metrics::SharedString;
use tokio::time::Instant;
use tracing::{Span, field::Empty, info_span};

use super::{
    metric, name,
    turn::{record_error, record_usage},
    word,
};
use crate::{
    port::ModelError,
    protocol::{Completion, CompletionRequest, Usage},
};

/// The span of a completion. If it is dropped without an end, it reports that the model's engine
/// died.
#[derive(Debug)]
pub struct CompletionSpan {
    span: Span,
    clock: CompletionClock,
    has_ended: bool,
}

/// Notes the moment of a completion's first token.
#[derive(Debug, Clone)]
pub struct CompletionClock {
    model: SharedString,
    began: Instant,
    first: Arc<OnceLock<Instant>>,
}

impl CompletionClock {
    /// Notes a token. Only the first one counts.
    pub fn ticks(&self) {
        if !self.has_first_token() && self.first.set(Instant::now()).is_ok() {
            metric::first_token_came(&self.model, self.began.elapsed());
        }
    }

    /// Returns whether the first token has come.
    #[must_use]
    pub fn has_first_token(&self) -> bool {
        self.first.get().is_some()
    }
}

impl CompletionSpan {
    /// Begins the span of a completion in this turn.
    #[must_use]
    pub fn begin(turn: &Span, model: &SharedString, request: &CompletionRequest) -> Self {
        let span = info_span!(
            parent: turn,
            "chat",
            { name::SHOWN_AS } = format_args!("chat {model}"),
            { name::OPERATION } = "chat",
            { name::CONVERSATION } = %request.session,
            { name::COMPLETION } = %request.id,
            { name::MODEL } = %model,
            { name::MAX_TOKENS } = request.max_tokens,
            { name::FINISH_REASONS } = Empty,
            { name::FINISH } = Empty,
            { name::INPUT_TOKENS } = Empty,
            { name::CACHED_TOKENS } = Empty,
            { name::OUTPUT_TOKENS } = Empty,
            { name::ERROR } = Empty,
            { name::STATUS } = Empty,
        );
        let model = model.clone();
        let began = Instant::now();
        let first = Arc::default();
        Self { span, clock: CompletionClock { model, began, first }, has_ended: false }
    }

    /// Returns the span in which the model does its work.
    #[must_use]
    pub const fn span(&self) -> &Span {
        &self.span
    }

    /// Returns the clock that notes the first token.
    #[must_use]
    pub fn clock(&self) -> CompletionClock {
        self.clock.clone()
    }

    /// Notes that the model begins the completion.
    pub fn runs(&self) {
        metric::completion_waited(&self.clock.model, self.clock.began.elapsed());
    }

    /// Ends the span with this result.
    pub fn ended(mut self, result: &Result<Completion, ModelError>) {
        match result {
            Ok(Completion { finish, usage, .. }) => {
                let finish: &str = finish.into();
                self.span.record(name::FINISH_REASONS, finish);
                self.end(finish, None, Some(*usage));
            }
            Err(ModelError::Cancelled { usage }) => self.end("cancelled", None, Some(*usage)),
            Err(ModelError::Failed { kind, .. }) => self.end("failed", Some(word(kind)), None),
            Err(ModelError::Overloaded { .. }) => {
                self.end("failed", Some(ModelError::OVERLOADED), None);
            }
        }
    }

    fn end(&mut self, finish: &'static str, error: Option<&'static str>, usage: Option<Usage>) {
        self.has_ended = true;
        let CompletionClock { model, began, first } = &self.clock;
        self.span.record(name::FINISH, finish);
        if let Some(usage) = usage {
            record_usage(&self.span, usage);
            metric::tokens_used(model, usage);
            if let Some(first) = first.get() {
                metric::tokens_came(model, usage.completion_tokens, first.elapsed());
            }
        }
        record_error(&self.span, error);
        metric::completion_ended(model, finish, error, began.elapsed());
    }
}

impl Drop for CompletionSpan {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end("failed", Some(ModelError::ENGINE_DIED), None);
        }
    }
}
