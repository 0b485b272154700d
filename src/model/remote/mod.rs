//! Asks a model behind an API: any OpenAI-compatible server, Anthropic, Gemini or Ollama.
//!
//! ```no_run
//! use madang::model::remote::{Provider, RemoteModel, RemoteOptions};
//!
//! let options = RemoteOptions::new(Provider::Anthropic, "claude-opus-4-5").key_from_env();
//! let model = RemoteModel::new(options)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `conversation` groups the messages of a chat as providers want them. `openai`, `anthropic`,
//! `gemini` and `ollama` each write a request and read a stream; they are pure. `stream` reads
//! bytes, `frames` cuts them, and `answer` collects what a reader finds. `wire` sends, tries again
//! and gives up. `refusal` decides what a refused request means, from the provider's `words`, and
//! `quirks` records how a server differs from others. `opaque` is the state that a model needs back
//! with its calls, and `members` and `think_tag` find it.
//!
//! Invariants:
//! - A request is sent again only if the model has streamed nothing of its answer.
//! - A key is sent to its provider alone. It is not an argument, is never logged, and is not sent
//!   after a redirect.
//! - A cancelled completion drops its connection.

mod answer;
mod anthropic;
mod broken;
mod conversation;
mod frames;
mod gemini;
mod json;
mod members;
mod ollama;
mod opaque;
mod openai;
mod options;
mod provider;
mod quirks;
mod reader;
mod refusal;
mod stream;
mod text_call;
mod think_tag;
mod wire;
mod words;

#[cfg(test)]
mod tests;

use madang_actors::{
    port::{BoxFuture, ChatModel, Deltas, ModelError, ModelInfo},
    protocol::{Completion, CompletionRequest},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use options::{RemoteError, RemoteOptions};
pub use provider::{Provider, UnknownProvider};

use answer::Answer;
use conversation::conversation;
use quirks::{KnownQuirks, Quirks};

/// A model behind an API.
///
/// A completion that is cancelled or dropped closes its connection. Until the model has streamed
/// something, a request is sent again up to twice if the provider is overloaded or fails, or the
/// connection is lost. After the model has begun to answer, such a failure ends the completion with
/// [`ModelError::CONNECTION_LOST`].
#[derive(Debug)]
pub struct RemoteModel {
    options: RemoteOptions,
    client: reqwest::Client,
    /// How the server differs from others, as far as its refusals have shown.
    quirks: KnownQuirks,
}

impl RemoteModel {
    /// Makes a client for the model. Nothing is sent before the first completion.
    ///
    /// # Errors
    /// [`RemoteError`] if the provider wants a key and there is none, the address is invalid, or
    /// the key would be sent in clear text.
    pub fn new(options: RemoteOptions) -> Result<Self, RemoteError> {
        options.check()?;
        let client = wire::client().map_err(RemoteError::Client)?;
        Ok(Self { options, client, quirks: KnownQuirks::default() })
    }
}

impl ChatModel for RemoteModel {
    fn info(&self) -> ModelInfo {
        ModelInfo {
            name: self.options.name().into(),
            has_parallel_calls: true,
            max_concurrent: self.options.max_concurrent,
        }
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move {
            let mut answer = Answer::new(deltas, request.tools.clone());
            let ended = tokio::select! {
                biased;
                () = cancel.cancelled() => None,
                ended = wire::complete(self, &request, &mut answer) => Some(ended),
            };
            ended.unwrap_or_else(|| Err(ModelError::Cancelled { usage: answer.usage }))
        })
    }
}

/// How a request is written this time.
#[derive(Debug, Clone, Copy, Default)]
struct Style {
    /// The number of messages, the oldest, that are left out.
    left_out: usize,
    /// Opaque state is left out, because the provider does not accept it.
    is_stripped: bool,
    quirks: Quirks,
}

impl RemoteModel {
    /// Writes the body of a request.
    fn body(&self, request: &CompletionRequest, style: Style) -> Value {
        let (options, tag) = (&self.options, self.options.name());
        let entries = conversation(&request.messages[style.left_out..], &tag, style.is_stripped);
        match options.provider {
            Provider::OpenAi => openai::body(options, request, &entries, style.quirks),
            Provider::Anthropic => anthropic::body(options, request, &entries),
            Provider::Gemini => gemini::body(options, request, &entries, style.quirks),
            Provider::Ollama => ollama::body(options, request, &entries),
        }
    }
}

/// Joins the system text and the instructions of the turn.
fn system(request: &CompletionRequest) -> Option<String> {
    let parts = [&request.system, &request.instructions];
    let parts: Vec<&str> = parts.into_iter().flatten().map(|text| &**text).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}
