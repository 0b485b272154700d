//! The model port: streams deltas, ends exactly once, by its return value.

use std::{borrow::Cow, error::Error, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::BoxFuture;
use crate::protocol::{Completion, CompletionDelta, CompletionRequest, ToolSpec, Usage};

/// A chat model that can call tools.
pub trait ChatModel: Send + Sync + fmt::Debug + 'static {
    /// What the runtime must know of it.
    fn info(&self) -> ModelInfo;

    /// Completes a chat. Deltas are pushed while it runs; the completion it returns is what counts.
    ///
    /// When `cancel` is cancelled it ends soon with [`ModelError::Cancelled`]; nothing it streamed is lost. Dropping
    /// the future has the same effect, but nobody learns what was spent.
    ///
    /// The first token must come within [`Limits::first_token_timeout`](crate::protocol::Limits). Where it is nothing that
    /// can be shown, [`CompletionDelta::Began`] tells of it; a model that streams nothing at all must end by then.
    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>>;

    /// What of these tools' schemas its calls may break, although it promises calls that keep to them. Empty for models
    /// that promise nothing of the kind. The runtime logs it at its start; the dispatcher checks every call anyway.
    fn unconstrained(&self, _tools: &[ToolSpec]) -> Vec<Unconstrained> {
        Vec::new()
    }
}

/// A model that others hold, too.
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    fn info(&self) -> ModelInfo {
        (**self).info()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        (**self).complete(request, deltas, cancel)
    }

    fn unconstrained(&self, tools: &[ToolSpec]) -> Vec<Unconstrained> {
        (**self).unconstrained(tools)
    }
}

/// A part of a tool's schema that a model's calls may break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unconstrained {
    /// The tool.
    pub tool: Arc<str>,
    /// Where, as a JSON Pointer into its schema.
    pub place: String,
    /// The keyword that cannot be followed; `size` where the schema is too large.
    pub keyword: String,
}

/// What the runtime must know of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Its name, for people.
    pub name: Cow<'static, str>,
    /// Its family asks for several calls in one completion: the stream is read to its end.
    pub has_parallel_calls: bool,
    /// How many completions it can serve at once; the rest wait in a fair queue.
    pub max_concurrent: usize,
}

/// Where a model pushes what it generates. Never waits; cheap to clone.
#[derive(Clone)]
pub struct Deltas(Arc<dyn Fn(CompletionDelta<'_>) + Send + Sync>);

impl Deltas {
    /// Hands each delta to a function, which must not block.
    pub fn new(push: impl Fn(CompletionDelta<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(push))
    }

    /// Hears nothing.
    #[must_use]
    pub fn ignored() -> Self {
        Self::new(|_| ())
    }

    /// Pushes one delta.
    pub fn push(&self, delta: CompletionDelta<'_>) {
        (self.0)(delta);
    }

    /// Pushes a piece of text.
    pub fn text(&self, text: &str) {
        self.push(CompletionDelta::Text(text));
    }
}

impl fmt::Debug for Deltas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deltas")
    }
}

/// Why a completion has no end of its own.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It was cancelled; this was spent.
    #[error("the completion was cancelled")]
    Cancelled {
        /// Tokens until then.
        usage: Usage,
    },
    /// Too many completions wait already; nothing of this one has happened.
    #[error("too many completions wait for the model")]
    Overloaded {
        /// When there will be a place, going by how long completions took lately. `None` if nobody knows.
        retry_after: Option<Duration>,
    },
    /// It failed.
    #[error("the model failed: {kind}")]
    Failed {
        /// A type for the user: `Timeout`, `Overloaded`, `EngineDied`, `BadOutput`, `Repetition`, `AnswerTooLong`, `ScriptExhausted`, or
        /// another.
        kind: Cow<'static, str>,
        /// The cause, for the log only.
        #[source]
        cause: Option<Box<dyn Error + Send + Sync>>,
    },
}

impl ModelError {
    /// A type for the user and for whoever watches.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Cancelled { .. } => "Cancelled",
            Self::Overloaded { .. } => Self::OVERLOADED,
            Self::Failed { kind, .. } => kind,
        }
    }

    /// It took too long.
    pub const TIMEOUT: &'static str = "Timeout";
    /// Too many completions wait already.
    pub const OVERLOADED: &'static str = "Overloaded";
    /// Whatever ran the model is gone.
    pub const ENGINE_DIED: &'static str = "EngineDied";
    /// What it was asked ended its process, again and again; the other completions are well.
    pub const KILLED_ENGINE: &'static str = "KilledEngine";
    /// It said nothing that can be used.
    pub const BAD_OUTPUT: &'static str = "BadOutput";
    /// It said the same again and again, and was stopped.
    pub const REPETITION: &'static str = "Repetition";
    /// It reached its bound on tokens before it had said anything that can be used.
    pub const TOO_LONG: &'static str = "AnswerTooLong";
    /// The script has no completion left.
    pub const SCRIPT_EXHAUSTED: &'static str = "ScriptExhausted";

    /// A failure of this kind, without a cause.
    #[must_use]
    pub fn failed(kind: impl Into<Cow<'static, str>>) -> Self {
        Self::Failed { kind: kind.into(), cause: None }
    }

    /// A failure of this kind with its cause.
    #[must_use]
    pub fn failed_by(
        kind: impl Into<Cow<'static, str>>,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Failed { kind: kind.into(), cause: Some(cause.into()) }
    }
}
