//! The requests of ours that wait for their answers: an answer to another one counts for nothing.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::model::RequestId;

/// The ids of the requests that wait, as many as calls run. What sends and what reads share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pending(Arc<Mutex<HashSet<RequestId>>>);

impl Pending {
    /// Notes that a request is on its way.
    pub(super) fn ask(&self, id: RequestId) {
        self.locked(|ids| ids.insert(id));
    }

    /// Forgets a request: it was answered, or is not wanted any more.
    pub(super) fn forget(&self, id: &RequestId) {
        self.locked(|ids| ids.remove(id));
    }

    /// Gives the request that an answer with this id is for. Some servers send a number back as a text.
    pub(super) fn of(&self, answered: &RequestId) -> Option<RequestId> {
        let number = match answered {
            RequestId::String(text) => text.parse().ok().map(RequestId::Number),
            RequestId::Number(_) => None,
        };
        self.locked(|ids| ids.get(answered).or_else(|| ids.get(&number?)).cloned())
    }

    fn locked<T>(&self, action: impl FnOnce(&mut HashSet<RequestId>) -> T) -> T {
        action(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
