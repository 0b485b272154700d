//! The messages of the LlmActor, and the events that it sends.

use tokio::sync::oneshot;

use crate::{
    port::ModelError,
    protocol::{Completion, CompletionId},
};

/// A message for the [`LlmActor`](super::LlmActor).
#[derive(Debug)]
pub enum LlmMsg {
    /// Counts the waiting completions.
    QueueLength {
        /// Receives the number.
        reply: oneshot::Sender<usize>,
    },
    /// A slot is free and a completion waits for it, or a completion has begun to wait.
    Freed,
    /// The completion that waits longest is due. The actor sends this to itself.
    Due,
}

/// An event that the LlmActor sends to its caller.
#[derive(Debug)]
pub enum LlmEvent {
    /// A completion ended.
    Ended {
        /// The completion that ended.
        completion: CompletionId,
        /// The completion, or why it has none.
        result: Result<Completion, ModelError>,
        /// Whether the model had said anything: then no other model may be asked in its place.
        has_begun: bool,
    },
}
