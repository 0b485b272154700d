//! What others may ask of the LlmActor, and what it tells them.

use tokio::sync::oneshot;

use crate::{
    port::ModelError,
    protocol::{Completion, CompletionId},
};

/// What others may ask of the [`LlmActor`](super::LlmActor).
#[derive(Debug)]
pub enum LlmMsg {
    /// How many completions wait.
    QueueLength {
        /// The number.
        reply: oneshot::Sender<usize>,
    },
    /// A slot is free and somebody waits for it, or somebody has begun to wait.
    Freed,
    /// Sent by the actor to itself when the completion that waits longest is due.
    Due,
}

/// What the LlmActor tells its asker.
#[derive(Debug)]
pub enum LlmEvent {
    /// A completion ended.
    Ended {
        /// Which.
        completion: CompletionId,
        /// How.
        result: Result<Completion, ModelError>,
    },
}
