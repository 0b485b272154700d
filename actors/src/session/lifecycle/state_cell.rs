//! The state of an awake session in a cell that its slot shares, so that it is taken from a dead actor exactly once.
//!
//! A killed actor's state lives on until its supervisor drops it. A caller that opens the session before that takes the
//! state first, and with it the turn. So no other actor goes on with a turn that this one still holds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::session::state::SessionState;

/// The cell that an actor and its slot share.
#[derive(Debug, Clone, Default)]
pub(crate) struct StateCell(Arc<Mutex<Option<Box<SessionState>>>>);

impl StateCell {
    /// Fills the cell when the actor has started.
    pub(crate) fn fill(&self, state: SessionState) {
        *self.state() = Some(Box::new(state));
    }

    /// Drops the state of an actor that is gone. The lock is held meanwhile, and is never taken under a lock of the
    /// slot's. So a caller that finds the cell empty finds the handover at the slot.
    pub(crate) fn empty(&self) {
        *self.state() = None;
    }

    /// Lets an actor handle a message. An actor whose state was taken handles none any more.
    pub(crate) fn with(&self, handle: impl FnOnce(&mut SessionState)) {
        if let Some(state) = self.state().as_mut() {
            handle(state);
        }
    }

    fn state(&self) -> MutexGuard<'_, Option<Box<SessionState>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The actor's own hold on its state: dropped with the actor, however that ends.
#[derive(Debug)]
pub struct StateHolder(pub(crate) StateCell);

impl Drop for StateHolder {
    fn drop(&mut self) {
        self.0.empty();
    }
}
