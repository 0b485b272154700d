//! Holds what all sessions of a runtime share.

use std::sync::Arc;

use ractor::ActorCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{
    dispatcher::{CallContext, DispatcherMsg},
    llm::ModelQueue,
    mailbox::Address,
    port::ChatModel,
    protocol::ToolSpec,
    store::StoreHandle,
};

/// Holds what all sessions of a runtime share.
#[derive(Debug, Clone)]
pub struct RuntimeContext {
    /// Where messages and turns are stored.
    pub store: StoreHandle,
    /// Where the model is asked.
    pub llm: ModelQueue,
    /// Whether the model's family asks for several calls at once.
    pub model: Arc<dyn ChatModel>,
    /// Where calls go.
    pub dispatcher: Address<DispatcherMsg>,
    /// What surrounds calls: registry, bounds, clock.
    pub around: Arc<CallContext>,
    /// The tools, as the model is told of them.
    pub specs: Arc<[ToolSpec]>,
    /// The system text.
    pub system: Option<Arc<str>>,
    /// Where the transcript lives.
    pub history: History,
    /// The parent of sessions.
    pub supervisor: ActorCell,
    /// Work that outlives whoever asked; shutdown waits for it.
    pub tasks: TaskTracker,
    /// Cancelled by shutdown: no turn begins any more.
    pub closing: CancellationToken,
}

/// Where the transcript lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// In the store: a session sleeps and wakes with it.
    #[default]
    Stored,
    /// In memory only: it ends with the runtime, and its session never sleeps. Tool calls are recorded all the same.
    InMemory,
}
