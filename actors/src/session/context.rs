//! The context that all sessions of a runtime share.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use ractor::ActorCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::lifecycle::lost::LostSessions;
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
    /// The models, each with its queue.
    pub models: Models,
    /// The actor that takes calls.
    pub dispatcher: Address<DispatcherMsg>,
    /// The context of calls: registry, bounds, clock.
    pub calls: Arc<CallContext>,
    /// The descriptions of the tools for the model.
    pub specs: Arc<[ToolSpec]>,
    /// The text that the model reads before every chat.
    pub system: Option<Arc<str>>,
    /// Whether a chat that is created here is temporary.
    pub has_temporary_chats: bool,
    /// The way on which sessions report that they lost their actor in mid-turn.
    pub lost: LostSessions,
    /// The parent of sessions.
    pub supervisor: ActorCell,
    /// The work that outlives its caller; shutdown waits for it.
    pub tasks: TaskTracker,
    /// Cancelled by shutdown: no turn begins any more.
    pub closing: CancellationToken,
    /// Set after the last wait of shutdown: no session wakes any more. Each request reads it, so it
    /// is no token, which has a lock.
    pub closed: Arc<AtomicBool>,
}

impl RuntimeContext {
    /// Returns whether the runtime has shut down.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }
}
