//! The state of an awake session in a cell that its slot shares, so that it is taken from a dead actor exactly once.
//!
//! A killed actor's state lives on until its supervisor drops it. A caller that opens the session before that takes the
//! state first, and with it the turn. So no other actor goes on with a turn that this one still holds.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The cell that an actor and its slot share.
#[derive(Debug)]
pub(in crate::session) struct StateCell<S>(Arc<Cell<S>>);

type Cell<S> = Mutex<Option<Box<S>>>;

/// A cell as the slot sees it, which knows nothing of the state.
pub(super) trait Emptied: Debug + Send + Sync {
    /// Drops the state of an actor that is gone. The lock is held meanwhile, and is never taken under a lock of the
    /// slot's. So a caller that finds the cell empty finds the handover at the slot.
    fn empty(&self);
}

impl<S: Debug + Send> Emptied for Cell<S> {
    fn empty(&self) {
        *locked(self) = None;
    }
}

impl<S> Default for StateCell<S> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }
}

impl<S> Clone for StateCell<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Debug + Send + 'static> StateCell<S> {
    /// Gives the cell to its slot.
    pub(super) fn of_slot(self) -> Arc<dyn Emptied> {
        self.0
    }
}

impl<S> StateCell<S> {
    /// Fills the cell when the actor has started.
    pub(in crate::session) fn fill(&self, state: S) {
        *locked(&self.0) = Some(Box::new(state));
    }

    /// Lets an actor handle a message. An actor whose state was taken handles none any more.
    pub(in crate::session) fn with(&self, handle: impl FnOnce(&mut S)) {
        if let Some(state) = locked(&self.0).as_mut() {
            handle(state);
        }
    }
}

fn locked<S>(cell: &Cell<S>) -> MutexGuard<'_, Option<Box<S>>> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The actor's own hold on its state: dropped with the actor, however that ends.
#[derive(Debug)]
pub struct StateHolder<S>(pub(in crate::session) StateCell<S>);

impl<S> Drop for StateHolder<S> {
    fn drop(&mut self) {
        *locked(&self.0.0) = None;
    }
}
