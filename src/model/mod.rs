//! Models: the port [`ChatModel`] and its implementations.
//!
//! [`from_fn`] makes a model from an async function, which is enough for a remote API or for a
//! test. The feature `llama` runs a GGUF file in the process, and `child` runs any model in a
//! process of its own. `remote` asks models of OpenAI-compatible servers, Anthropic, Gemini and
//! Ollama. A small model comes with `madang-toolkits`.
//!
//! ```
//! use madang::model::{self, Completion};
//!
//! let parrot = model::from_fn("parrot", async |request, _| {
//!     Ok(Completion::text(format!("You said: {}", request.last_user_text())))
//! });
//! ```
//!
//! A model streams its text as [`CompletionDelta`]s and ends with a [`Completion`] or a
//! [`ModelError`].
//!
//! Invariants:
//! - A completion ends once: with what the model returns, or by the runtime if the model times out,
//!   panics or has a full queue.
//! - A returned [`Completion`] is what is stored, whatever was streamed before.
//! - A model ends a cancelled completion soon, with [`ModelError::Cancelled`]. The runtime relies
//!   on it.
//! - At most [`ModelInfo::max_concurrent`] completions of a model run at once. The others wait in a
//!   fair queue.
//! - A model never decides whether a tool may run, because the runtime checks each call.

#[cfg(feature = "child")]
pub mod child;
mod from_fn;
#[cfg(feature = "remote")]
pub mod remote;

pub use from_fn::{FnModel, from_fn};
pub use madang_actors::{
    port::{Caveat, ChatModel, Deltas, ModelError, ModelInfo, Unconstrained, UserWeights},
    protocol::{
        Completion, CompletionDelta, CompletionRequest, ConversationCall, ConversationMessage,
        FinishReason, PromptMessage, SILENCE, Usage, conversation,
    },
};
#[cfg(feature = "llama")]
pub use madang_llama as llama;
