//! The state of an awake session in a cell that its slot shares, so that it is taken from a dead actor exactly once.
//!
//! A killed actor's state lives on until its supervisor comes to drop it. Whoever wants the session before that takes
//! the state first, and with it the turn: no other actor can go on with what this one still holds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::session::state::SessionState;

/// Shared by an actor and its slot.
#[derive(Debug, Clone, Default)]
pub(crate) struct StateCell(Arc<Mutex<Option<Box<SessionState>>>>);

impl StateCell {
    /// The actor has started.
    pub(crate) fn fill(&self, state: SessionState) {
        *self.state() = Some(Box::new(state));
    }

    /// The actor is gone: its state is dropped when this returns, whoever drops it. Under the lock, which nobody takes under
    /// a lock of the slot's: one who finds the cell empty finds at the slot what was left there.
    pub(crate) fn empty(&self) {
        *self.state() = None;
    }

    /// Lets an actor handle something. An actor whose state was taken handles nothing any more.
    pub(crate) fn with(&self, handle: impl FnOnce(&mut SessionState)) {
        if let Some(state) = self.state().as_mut() {
            handle(state);
        }
    }

    fn state(&self) -> MutexGuard<'_, Option<Box<SessionState>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the actor itself holds of its state: dropped with the actor, however that ends.
#[derive(Debug)]
pub struct StateHolder(pub(crate) StateCell);

impl Drop for StateHolder {
    fn drop(&mut self) {
        self.0.empty();
    }
}
