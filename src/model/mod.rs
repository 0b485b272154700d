//! Models: what implements the port [`ChatModel`]. [`from_fn`] makes one from an async function.

#[cfg(feature = "bundled-model")]
mod bundled;
#[cfg(feature = "child")]
pub mod child;
mod from_fn;

#[cfg(feature = "bundled-model")]
pub use bundled::bundled;
pub use from_fn::{FnModel, from_fn};
pub use madang_actors::{
    port::{ChatModel, Deltas, ModelError, ModelInfo, Unconstrained, UserWeights},
    protocol::{
        Completion, CompletionDelta, CompletionRequest, FinishReason, PromptMessage, Usage,
    },
};
#[cfg(feature = "llama")]
pub use madang_llama as llama;
