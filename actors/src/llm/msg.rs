//! What others may ask of the LlmActor, and what it tells them.

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::{
    mailbox::Reply,
    port::{Deltas, ModelError},
    protocol::{Completion, CompletionId, CompletionRequest},
};

/// What others may ask of the [`LlmActor`](super::LlmActor).
#[derive(Debug)]
pub enum LlmMsg {
    /// Complete a chat.
    Complete {
        /// The chat and the tools.
        request: Box<CompletionRequest>,
        /// Where the text goes while it is generated.
        deltas: Deltas,
        /// Cancelled when nobody wants the completion any more, also because it has ended.
        cancel: CancellationToken,
        /// What the completion's span is a child of: that of the turn.
        span: Span,
        /// Exactly one event ends it.
        reply: Reply<LlmEvent>,
    },
    /// How many completions wait.
    QueueLength {
        /// The number.
        reply: oneshot::Sender<usize>,
    },
    /// Sent by a completion's task when its place is free and somebody waits for it.
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
