//! What all handles of a runtime share: its actors, its sessions, and the way of a request to a session.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use madang_actors::{
    approval,
    call::DirectCalls,
    port::{Clock, Store},
    protocol::{CallId, Decision, DecisionError, Digest, Languages, LimitExceeded, Limits, UserId},
    session::{
        ClearError, DismissError, ImportError, RuntimeContext, Sent, SessionRegistry,
        SessionRequest, SessionSlot, TurnRefused, WakePolicy, go_on, open,
    },
    supervisor::RuntimeHandles,
};
use tokio_util::task::TaskTracker;

use super::{interrupted::Interrupted, model_choice::ModelChoice, time_zone::TimeZones};
use crate::error::SessionError;

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
    /// Whether shutdown is past its last wait, so that no session may wake any more.
    pub(crate) is_closed: AtomicBool,
}

/// A reason why a session does not answer a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreached {
    /// Too many requests wait already.
    Full(LimitExceeded),
    /// The session's actor died, or the runtime has shut down.
    Closed,
}

macro_rules! from_unreached {
    ($($error:ident),*) => {
        $(impl From<Unreached> for $error {
            fn from(unreached: Unreached) -> Self {
                match unreached {
                    Unreached::Full(refusal) => Self::Overloaded(refusal),
                    Unreached::Closed => Self::Closed,
                }
            }
        })*
    };
}

from_unreached!(SessionError, TurnRefused, ClearError, ImportError);

/// No bound refuses a dismissal.
impl From<Unreached> for DismissError {
    fn from(_: Unreached) -> Self {
        Self::Closed
    }
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

    /// Sends a request through a session's slot, and wakes the session if it sleeps. The session has the request, or
    /// receives it when it wakes.
    pub(crate) fn send(
        &self,
        slot: &Arc<SessionSlot>,
        request: SessionRequest,
    ) -> Result<(), Unreached> {
        if self.is_closed() {
            return Err(Unreached::Closed);
        }
        match slot.send(request) {
            Sent::Delivered => Ok(()),
            Sent::WakeIt => {
                let opens = open(slot.clone(), self.context.clone(), WakePolicy::RefuseIfFull);
                // In a task: the caller may leave, and others may be waiting at the slot.
                self.tasks().spawn(opens);
                Ok(())
            }
            Sent::Full(_, refusal) => Err(Unreached::Full(refusal)),
        }
    }

    /// Wakes a session without a request, because a turn or call of it must go on.
    pub(crate) fn wake(&self, slot: &Arc<SessionSlot>) {
        if !self.is_closing() {
            go_on(slot, &self.context);
        }
    }

    /// Returns whether nothing may begin or go on any more. Chats can still be read, and turns dismissed.
    pub(crate) fn is_closing(&self) -> bool {
        self.context.closing.is_cancelled()
    }

    /// Returns whether the runtime has shut down: no session wakes any more.
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
