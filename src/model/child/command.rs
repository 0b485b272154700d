//! The messages between the handle of a [`ChildModel`](super::ChildModel) and its thread.

use std::sync::mpsc as blocking;

use madang_actors::{
    port::{Deltas, ModelError, Unconstrained},
    protocol::{Completion, CompletionRequest, ToolSpec},
};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::stats::ChildStats;

/// A message to the thread.
pub(super) enum Command {
    /// Completes a request.
    Complete { id: u64, request: CompletionRequest, responder: Responder },
    /// Cancels a completion.
    Withdraw { id: u64 },
    /// Asks the child which limits the model's calls may exceed.
    Unconstrained { id: u64, tools: Vec<ToolSpec>, reply: blocking::SyncSender<Vec<Unconstrained>> },
}

/// The caller of a completion. Dropping it frees the permit of the completion.
pub(super) struct Responder {
    pub(super) deltas: Deltas,
    pub(super) reply: oneshot::Sender<Result<Completion, ModelError>>,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// The state of the thread that the handle reads.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) stats: ChildStats,
    pub(super) figures: Value,
}
