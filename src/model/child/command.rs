//! What the handle and the thread of a [`ChildModel`](super::ChildModel) say to each other.

use std::sync::mpsc as blocking;

use madang_actors::{
    port::{Deltas, ModelError, Unconstrained},
    protocol::{Completion, CompletionRequest, ToolSpec},
};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::ChildStats;

/// What the thread is asked.
pub(super) enum Command {
    /// Complete this.
    Complete { id: u64, request: CompletionRequest, responder: Responder },
    /// This completion is cancelled.
    Withdraw { id: u64 },
    /// Ask the child that runs what calls may break.
    Unconstrained { id: u64, tools: Vec<ToolSpec>, reply: blocking::SyncSender<Vec<Unconstrained>> },
}

/// The listener of a completion, and its place among all that are open, which is free when this is dropped.
pub(super) struct Responder {
    pub(super) deltas: Deltas,
    pub(super) reply: oneshot::Sender<Result<Completion, ModelError>>,
    pub(super) _place: OwnedSemaphorePermit,
}

/// What the handle sees of the thread.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) stats: ChildStats,
    pub(super) figures: Value,
}
