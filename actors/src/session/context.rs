//! The context that all sessions of a runtime share.

use std::sync::Arc;

use ractor::ActorCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{
    dispatcher::{CallContext, DispatcherMsg},
    llm::Models,
    mailbox::Address,
    protocol::ToolSpec,
    store::StoreHandle,
};

/// The context that all sessions of a runtime share.
#[derive(Debug, Clone)]
pub struct RuntimeContext {
    /// The store for messages and turns.
    pub store: StoreHandle,
    /// The models, each behind its queue.
    pub models: Models,
    /// The actor that takes calls.
    pub dispatcher: Address<DispatcherMsg>,
    /// The context of calls: registry, bounds, clock.
    pub calls: Arc<CallContext>,
    /// The descriptions of the tools for the model.
    pub specs: Arc<[ToolSpec]>,
    /// The text that stands before every chat.
    pub system: Option<Arc<str>>,
    /// Whether transcripts are stored, or live in memory only.
    pub history: History,
    /// The parent of sessions.
    pub supervisor: ActorCell,
    /// The work that outlives its caller; shutdown waits for it.
    pub tasks: TaskTracker,
    /// Cancelled by shutdown: no turn begins any more.
    pub closing: CancellationToken,
}

/// Says whether the transcripts of a runtime are stored, or live in memory only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum History {
    /// The store: a session sleeps and wakes with its transcript.
    #[default]
    Stored,
    /// Memory only: the transcript ends with the runtime, and its session never sleeps. Tool calls are recorded all the
    /// same.
    InMemory,
}
