//! The model port: a model streams deltas and ends exactly once, by its return value.

use std::{borrow::Cow, error::Error, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::BoxFuture;
use crate::protocol::{Completion, CompletionDelta, CompletionRequest, ToolSpec, Usage};

/// A chat model that can call tools.
pub trait ChatModel: Send + Sync + fmt::Debug + 'static {
    /// Returns what the runtime must know of the model.
    fn info(&self) -> ModelInfo;

    /// Completes a chat. Deltas are pushed while the completion runs, and the completion that is
    /// returned counts.
    ///
    /// After `cancel` is cancelled, the completion ends soon with [`ModelError::Cancelled`], and no
    /// streamed text is lost. Dropping the future also cancels the completion, but its usage is
    /// then not known.
    ///
    /// The first token must come within [`Limits::first_token_timeout`](crate::protocol::Limits).
    /// If it cannot be shown, the model pushes [`CompletionDelta::Began`]. A model that streams
    /// nothing at all must end by then.
    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>>;

    /// Returns the parts of these tools' schemas that its calls may break, although it promises
    /// calls that keep to them. It is empty for models without such a promise. The runtime logs
    /// these parts at its start. The dispatcher checks every call in any case.
    fn unconstrained(&self, _tools: &[ToolSpec]) -> Vec<Unconstrained> {
        Vec::new()
    }

    /// Returns what a person should know of the model before the first chat with it. Usually it is
    /// empty.
    fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }
}

/// Shares one model between several holders.
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

    fn caveats(&self) -> Vec<Caveat> {
        (**self).caveats()
    }
}

/// A reason why a model may answer or call worse than it could.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Caveat {
    /// Its file has no chat template, so it reads chats in a usual form, which may not be its own.
    NoTemplate,
    /// A chat template of its file cannot be used, so it reads chats in another form.
    TemplateGivenUp {
        /// What is wrong with the template. The file wrote parts of it.
        problem: String,
    },
    /// Its template writes calls of tools in a form that is not known, so the model is asked to
    /// write them in another.
    UnknownCalls,
    /// It is a very small model that shows what Madang does, and knows few tools.
    Demonstration,
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTemplate => f.write_str(
                "the model's file has no chat template, so it reads a usual form: it may answer and call tools worse; \
                 a GGUF with a template helps",
            ),
            Self::TemplateGivenUp { problem } => write!(
                f,
                "the chat template of the model's file cannot be used ({problem}), so it reads another form: it may \
                 answer and call tools worse; another GGUF may help"
            ),
            Self::UnknownCalls => f.write_str(
                "the model's own way to call tools is not known, so it is asked to call them in JSON: it may call them \
                 worse, or show a call as its answer",
            ),
            Self::Demonstration => f.write_str(
                "this is a very small demonstration model, which knows only the tools of Madang's own toolkits: for \
                 real work take another model",
            ),
        }
    }
}

/// A part of a tool's schema that a model's calls may break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unconstrained {
    /// The name of the tool.
    pub tool: Arc<str>,
    /// A JSON Pointer into the schema.
    pub pointer: String,
    /// The keyword that the model does not follow, or `size` if the schema is too large.
    pub keyword: String,
}

/// What the runtime must know of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The model's name, for people.
    pub name: Cow<'static, str>,
    /// Whether its family asks for several calls in one completion. If so, the stream is read to
    /// its end.
    pub has_parallel_calls: bool,
    /// The number of completions that it can serve at once. Others wait in a fair queue.
    pub max_concurrent: usize,
}

/// Receives what a model generates. It never blocks, and is cheap to clone.
#[derive(Clone)]
pub struct Deltas(Arc<dyn Fn(CompletionDelta<'_>) + Send + Sync>);

impl Deltas {
    /// Passes each delta to a function, which must not block.
    pub fn new(push: impl Fn(CompletionDelta<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(push))
    }

    /// Drops each delta.
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

/// A reason why a completion has no answer.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The completion was cancelled.
    #[error("the completion was cancelled")]
    Cancelled {
        /// The tokens spent until then.
        usage: Usage,
    },
    /// Too many completions wait already. Nothing of this one has happened.
    #[error("too many completions wait for the model")]
    Overloaded {
        /// When a slot is likely to be free, going by how long completions took lately. `None`
        /// before any has ended.
        retry_after: Option<Duration>,
    },
    /// The model failed.
    #[error("the model failed: {kind}")]
    Failed {
        /// The kind, for the user: `Timeout`, `Overloaded`, `EngineDied`, `BadOutput`,
        /// `Repetition`, `AnswerTooLong`, `ConnectionLost`, `Unauthorized`, `Refused`,
        /// `PromptTooLong`, `ScriptExhausted`, or another.
        kind: Cow<'static, str>,
        /// The message of the model's provider, for the person: foreign text, short and without the
        /// key. They may repeat what was sent, so no log has them.
        said: Option<Arc<str>>,
        /// The cause, for the log only.
        #[source]
        cause: Option<Box<dyn Error + Send + Sync>>,
    },
}

/// Leaves out the message of a provider.
impl fmt::Debug for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled { usage } => f.debug_struct("Cancelled").field("usage", usage).finish(),
            Self::Overloaded { retry_after } => {
                f.debug_struct("Overloaded").field("retry_after", retry_after).finish()
            }
            Self::Failed { kind, said, cause } => f
                .debug_struct("Failed")
                .field("kind", kind)
                .field("has_words", &said.is_some())
                .field("cause", cause)
                .finish(),
        }
    }
}

impl ModelError {
    /// Returns the kind of failure, for users and metrics.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Cancelled { .. } => "Cancelled",
            Self::Overloaded { .. } => Self::OVERLOADED,
            Self::Failed { kind, .. } => kind,
        }
    }

    /// The completion took too long.
    pub const TIMEOUT: &'static str = "Timeout";
    /// Too many completions wait already.
    pub const OVERLOADED: &'static str = "Overloaded";
    /// The process or thread that ran the model is gone.
    pub const ENGINE_DIED: &'static str = "EngineDied";
    /// The request ended the model's process again and again. Other completions are not affected.
    pub const KILLED_ENGINE: &'static str = "KilledEngine";
    /// The answer has nothing that can be used.
    pub const BAD_OUTPUT: &'static str = "BadOutput";
    /// The answer repeated itself, and was stopped.
    pub const REPETITION: &'static str = "Repetition";
    /// The answer reached the token limit before it contained anything usable.
    pub const TOO_LONG: &'static str = "AnswerTooLong";
    /// The provider of a remote model does not accept the key.
    pub const UNAUTHORIZED: &'static str = "Unauthorized";
    /// The connection to a remote model broke before the answer was complete.
    pub const CONNECTION_LOST: &'static str = "ConnectionLost";
    /// The provider of a remote model refuses to answer.
    pub const REFUSED: &'static str = "Refused";
    /// The prompt is longer than the model reads, even without its oldest messages.
    pub const PROMPT_TOO_LONG: &'static str = "PromptTooLong";
    /// The script of a scripted model has no completion left.
    pub const SCRIPT_EXHAUSTED: &'static str = "ScriptExhausted";

    /// Makes a failure of this kind, without a cause.
    #[must_use]
    pub fn failed(kind: impl Into<Cow<'static, str>>) -> Self {
        Self::Failed { kind: kind.into(), said: None, cause: None }
    }

    /// Makes a failure of this kind with its cause.
    #[must_use]
    pub fn failed_by(
        kind: impl Into<Cow<'static, str>>,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Failed { kind: kind.into(), said: None, cause: Some(cause.into()) }
    }

    /// Adds the message of the model's provider to a failure.
    #[must_use]
    pub fn with_words(self, words: Option<impl Into<Arc<str>>>) -> Self {
        match self {
            Self::Failed { kind, cause, .. } => {
                Self::Failed { kind, said: words.map(Into::into), cause }
            }
            other @ (Self::Cancelled { .. } | Self::Overloaded { .. }) => other,
        }
    }
}
