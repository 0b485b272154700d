//! The ends of handlers that the store has not taken yet. Whatever ends such a call in the ledger
//! writes the true end.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{ledger::Ended, protocol::CallId};

/// The ends that wait for the store, by their calls. Each of these calls holds its permit among the
/// running ones.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptEnds(Arc<Mutex<HashMap<CallId, Ended>>>);

/// Keeps the end of a call until it is dropped. Until then, everything that ends the call in the
/// ledger writes this end.
#[derive(Debug)]
#[must_use = "dropped, it keeps nothing"]
pub(super) struct KeptEnd {
    all: KeptEnds,
    call: CallId,
}

impl KeptEnds {
    /// Keeps the end of a handler that was recorded as begun.
    pub(super) fn keep(&self, call: CallId, ended: Ended) -> KeptEnd {
        self.ends().insert(call, ended);
        KeptEnd { all: self.clone(), call }
    }

    /// Returns the end of a call that waits for the store.
    pub(super) fn get(&self, call: CallId) -> Option<Ended> {
        self.ends().get(&call).cloned()
    }

    fn ends(&self) -> MutexGuard<'_, HashMap<CallId, Ended>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KeptEnd {
    fn drop(&mut self) {
        self.all.ends().remove(&self.call);
    }
}
