//! The request for a completion, as it waits for the engine.

use std::sync::{Arc, atomic::AtomicBool};

use madang_actors::{
    port::{Deltas, ModelError},
    protocol::{Completion, CompletionRequest},
};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// A completion to generate.
#[derive(Debug)]
pub(crate) struct EngineRequest {
    pub(crate) request: CompletionRequest,
    pub(crate) deltas: Deltas,
    /// Cancelled by its caller, or when its future or the model is dropped.
    pub(crate) cancel: [CancellationToken; 2],
    /// Set when the work on it begins.
    pub(crate) has_begun: Arc<AtomicBool>,
    pub(crate) reply: Reply,
}

/// The receiver of a completion's end.
pub(crate) type Reply = oneshot::Sender<Result<Completion, ModelError>>;
