//! Tracks the client's requests that wait for their answers. An answer to any other request is
//! ignored.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::model::{ClientRequest, RequestId};

/// The requests that wait, and whether each calls a tool. There are as many as calls run. The
/// sending and the reading side share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pending(Arc<Mutex<HashMap<RequestId, bool>>>);

impl Pending {
    /// Notes that a request is on its way.
    pub(super) fn insert(&self, id: RequestId, asked: &ClientRequest) {
        let calls = matches!(asked, ClientRequest::CallToolRequest(_));
        self.locked(|ids| ids.insert(id, calls));
    }

    /// Returns whether the request calls a tool.
    pub(super) fn is_call(&self, id: &RequestId) -> bool {
        self.locked(|ids| ids.get(id).copied().unwrap_or_default())
    }

    /// Forgets a request that was answered, or is no longer wanted.
    pub(super) fn forget(&self, id: &RequestId) {
        self.locked(|ids| ids.remove(id));
    }

    /// Returns the request that an answer with this id is for. Some servers send a number back as a
    /// text.
    pub(super) fn find(&self, answered: &RequestId) -> Option<RequestId> {
        let number = match answered {
            RequestId::String(text) => text.parse().ok().map(RequestId::Number),
            RequestId::Number(_) => None,
        };
        self.locked(|ids| {
            let found = ids.get_key_value(answered).or_else(|| ids.get_key_value(&number?));
            found.map(|(id, _)| id.clone())
        })
    }

    fn locked<T>(&self, action: impl FnOnce(&mut HashMap<RequestId, bool>) -> T) -> T {
        action(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
impl Pending {
    /// Returns what waits if calls with these ids are on their way.
    pub(super) fn calls(ids: impl IntoIterator<Item = RequestId>) -> Self {
        Self(Arc::new(Mutex::new(ids.into_iter().map(|id| (id, true)).collect())))
    }
}
