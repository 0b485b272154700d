//! What all handles of a runtime share: its actors, its sessions, and how a request reaches a
//! session.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use madang_actors::{
    approval,
    call::DirectCalls,
    port::{Clock, Store},
    protocol::{CallId, Decision, DecisionError, Digest, Languages, Limits, UserId},
    session::{
        RuntimeContext, Sent, SessionRegistry, SessionRequest, SessionSlot, WakePolicy, go_on, open,
    },
    supervisor::RuntimeHandles,
};
use tokio_util::task::TaskTracker;

use super::{interrupted::Interrupted, model_choice::ModelChoice, time_zone::TimeZones};
use crate::error::Error;

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
    /// Whether shutdown has ended its last wait, so that no session may wake any more.
    pub(crate) is_closed: AtomicBool,
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

    /// Sends a request through a session's slot, and wakes the session if it sleeps. On `Ok` the
    /// session has the request, or receives it when it wakes.
    pub(crate) fn send(
        &self,
        slot: &Arc<SessionSlot>,
        request: SessionRequest,
    ) -> Result<(), Error> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        match slot.send(request) {
            Sent::Delivered => Ok(()),
            Sent::WakeIt => {
                let opens = open(slot.clone(), self.context.clone(), WakePolicy::RefuseIfFull);
                // In a task: the caller may leave, and others may be waiting at the slot.
                self.tasks().spawn(opens);
                Ok(())
            }
            Sent::Full(_, refusal) => Err(Error::Overloaded(refusal)),
        }
    }

    /// Wakes a session without a request, because a turn or call of it must go on.
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
        self.is_closed.load(Relaxed)
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
