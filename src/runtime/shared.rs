//! What all handles of a runtime share: its actors and its sessions.

use std::sync::Arc;

use madang_actors::{
    approval,
    call::DirectCalls,
    port::{Clock, Store},
    protocol::{CallId, Decision, DecisionError, Digest, Languages, Limits, UserId},
    session::{RuntimeContext, SessionRegistry, SessionSlot, go_on},
    supervisor::RuntimeHandles,
};
use tokio_util::task::TaskTracker;

use super::{interrupted::Interrupted, model_choice::ModelChoice, time_zone::TimeZones};

/// The inside of a [`Runtime`](crate::Runtime).
#[derive(Debug)]
pub(crate) struct SharedRuntime {
    pub(crate) handles: RuntimeHandles,
    pub(crate) context: Arc<RuntimeContext>,
    pub(crate) sessions: SessionRegistry,
    pub(crate) model_choice: ModelChoice,
    pub(crate) time_zones: TimeZones,
    pub(crate) interrupted: Interrupted,
    /// The calls without a model.
    pub(crate) direct_calls: DirectCalls,
}

impl SharedRuntime {
    pub(crate) fn limits(&self) -> &Limits {
        &self.context.calls.limits
    }

    pub(crate) fn languages(&self) -> &Languages {
        &self.context.calls.languages
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.context.calls.clock
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.context.tasks
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.context.store.store()
    }

    /// Wakes a session without a request, because a turn or call of it must continue.
    pub(crate) fn wake(&self, slot: &Arc<SessionSlot>) {
        if !self.is_closing() {
            go_on(slot, &self.context);
        }
    }

    /// Returns whether nothing may begin or go on any more. Chats can still be read, and turns
    /// dismissed.
    pub(crate) fn is_closing(&self) -> bool {
        self.context.closing.is_cancelled()
    }

    /// Returns whether the runtime has shut down, so that no session wakes any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.context.is_closed()
    }

    pub(crate) async fn decide(
        &self,
        user: &UserId,
        call: CallId,
        digest: Digest,
        decision: Decision,
    ) -> Result<(), DecisionError> {
        approval::decide(&self.handles.confirm, user, call, digest, decision, self.limits()).await
    }
}
