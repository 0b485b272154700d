//! Runs llama.cpp in this process. An OS thread owns one GGUF model and its context, and serves
//! many chats at once.
//!
//! A completion passes these modules:
//! - `window` chooses the messages. `prompt` and `template` render them in the model's `dialect`,
//!   which belongs to a family of `madang-parser`.
//! - `spans` and `vocabulary` turn the prompt into tokens, none of which a user can forge.
//!   `beginning` finds the part that users share.
//! - `engine` reads and generates for all completions together. `grammar` and `sampler` choose each
//!   token.
//! - The parser of `madang-parser` separates text, thinking and calls in the form of the family.
//!
//! Invariants:
//! - No input makes llama.cpp abort the process.
//! - The cache shows a user nothing of another user's text.
//! - A constrained call fits its tool's schema.

mod answer;
mod backend;
mod beginning;
mod built_in;
mod dialect;
mod engine;
mod error;
mod foreign;
mod frames;
mod gguf;
mod grammar;
mod hidden;
mod letters;
mod markers;
mod options;
mod pieces;
mod probes;
#[cfg(any(feature = "portable", test))]
mod processor;
mod prompt;
mod repetition;
mod sampler;
mod source;
mod spans;
mod telling;
mod template;
mod utf8;
mod vocabulary;
mod window;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use madang_actors::{
    port::{BoxFuture, Caveat, ChatModel, Deltas, ModelError, ModelInfo, Unconstrained},
    protocol::{Completion, CompletionRequest, ToolSpec, Usage},
};
use madang_parser::family::Family;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

pub use engine::EngineStats;
pub use error::LoadError;
pub use options::LlamaOptions;
pub use sampler::Sampling;

use engine::{Asked, EngineRequest, Loaded, Refused};
use telling::CallStyle;

/// A GGUF model that runs inside this process.
///
/// An OS thread owns it. To drop the future of a completion cancels that completion. To drop the
/// model ends all its completions, blocks until llama.cpp returns from the present decode, and
/// frees the memory. Drop it before the process exits.
pub struct LlamaModel {
    info: ModelInfo,
    /// The form of its calls. `None` if they are not constrained.
    calls: Option<(&'static Family, CallStyle)>,
    caveats: Vec<Caveat>,
    asked: Arc<Asked>,
    closing: CancellationToken,
    thread: Option<JoinHandle<()>>,
    stats: Arc<Mutex<EngineStats>>,
}

impl LlamaModel {
    /// Loads a model. This blocks the calling thread, which takes seconds for a large model.
    ///
    /// # Errors
    /// Returns a [`LoadError`], which says in one sentence what is wrong and what to do.
    pub fn load(options: LlamaOptions) -> Result<Self, LoadError> {
        options.sampling.check()?;
        let has_parallel_calls = options.has_parallel_calls;
        let max_concurrent = options.max_sequences;
        let closing = CancellationToken::new();
        let asked = Arc::new(Asked::new(options.max_waiting));
        let has_constraints = options.has_constraints;
        let stats = Arc::default();
        let (Loaded { name, family, style, caveats }, thread) =
            engine::start(options, Arc::clone(&asked), Arc::clone(&stats))?;
        let info = ModelInfo { name: name.into(), has_parallel_calls, max_concurrent };
        let calls = has_constraints.then_some((family, style));
        Ok(Self { info, calls, caveats, asked, closing, thread: Some(thread), stats })
    }

    /// Returns the engine's figures up to its latest decode.
    #[must_use]
    pub fn stats(&self) -> EngineStats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn complete_on_thread(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> Result<Completion, ModelError> {
        // Dropping this future ends the work too.
        let stop = self.closing.child_token();
        let _stop_when_dropped = stop.clone().drop_guard();
        let has_begun = Arc::new(AtomicBool::new(false));
        let (reply, mut answer) = oneshot::channel();
        let wanted = [cancel.clone(), stop];
        let job = EngineRequest {
            request,
            deltas,
            cancel: wanted,
            has_begun: Arc::clone(&has_begun),
            reply,
        };
        self.asked.push(job).map_err(|refused| match refused {
            Refused::Full => ModelError::Overloaded { retry_after: None },
            Refused::Closed => ModelError::failed(ModelError::ENGINE_DIED),
        })?;
        let died = |_| Err(ModelError::failed(ModelError::ENGINE_DIED));
        tokio::select! {
            biased;
            answered = &mut answer => return answered.unwrap_or_else(died),
            () = cancel.cancelled() => (),
        }
        // A completion that has not begun costs nothing. It is dropped at its turn.
        if !has_begun.load(Ordering::Acquire) {
            return Err(ModelError::Cancelled { usage: Usage::default() });
        }
        answer.await.unwrap_or_else(died)
    }
}

impl ChatModel for LlamaModel {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(self.complete_on_thread(request, deltas, cancel))
    }

    fn unconstrained(&self, tools: &[ToolSpec]) -> Vec<Unconstrained> {
        self.calls.as_ref().map_or_else(Vec::new, |(family, style)| {
            grammar::unconstrained(family, style.clone(), tools)
        })
    }

    fn caveats(&self) -> Vec<Caveat> {
        self.caveats.clone()
    }
}

impl Drop for LlamaModel {
    fn drop(&mut self) {
        self.closing.cancel();
        self.asked.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the model had panicked");
        }
    }
}

impl fmt::Debug for LlamaModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlamaModel").field("info", &self.info).finish_non_exhaustive()
    }
}
