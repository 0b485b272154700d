//! The inboxes of a runtime: each tells one user of approval requests that open and end, in all sessions.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
};

use super::{
    InboxItem,
    inbox_table::{InboxId, InboxTable, Read},
};
use crate::protocol::{ApprovalEnd, ApprovalRequest, CallId, Limits, UserId};

/// The inboxes of a runtime, with the open requests. Clones share them.
///
/// They stand beside the ConfirmActor and are told by the calls themselves, so a restart of the actor changes nothing
/// in them: a request is open until its call has recorded how it ended.
#[derive(Clone)]
pub struct Inboxes(Arc<Mutex<InboxTable<Waker>>>);

/// Reads the inbox of one user. Dropping it removes the inbox.
#[derive(Debug)]
pub struct InboxReader {
    of: Inboxes,
    user: UserId,
    inbox: InboxId,
}

impl Inboxes {
    /// Makes the inboxes of a runtime with these limits.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self(Arc::new(Mutex::new(InboxTable::new(limits.max_inbox_changes))))
    }

    /// Watches the requests of this user from here on. The caller bounds the number of inboxes.
    #[must_use]
    pub fn watch(&self, user: &UserId) -> InboxReader {
        let inbox = self.table().watch(user);
        InboxReader { of: self.clone(), user: user.clone(), inbox }
    }

    /// Tells that a person is asked. The request can be decided from here on.
    pub(crate) fn opened(&self, request: Arc<ApprovalRequest>) {
        let woken = self.table().opened(request);
        wake(woken);
    }

    /// Tells how the request of this call ended; changes nothing where none is open.
    pub(crate) fn ended(&self, user: &UserId, call: CallId, end: ApprovalEnd) {
        let woken = self.table().ended(user, call, end);
        wake(woken);
    }

    /// Ends all inboxes behind what they have not read: the runtime shuts down. Requests that are open stay open in the
    /// ledger.
    pub fn close(&self) {
        let woken = self.table().close();
        wake(woken);
    }

    fn table(&self) -> MutexGuard<'_, InboxTable<Waker>> {
        self.0.lock().expect("no code under this lock panics")
    }
}

impl InboxReader {
    /// Gives the next item, or wakes the context's task once there is one; `None` once the runtime has shut down.
    pub fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<InboxItem>> {
        let read = self.of.table().read(&self.user, self.inbox, context.waker().clone());
        match read {
            Read::Item(item) => Poll::Ready(Some(item)),
            Read::Closed => Poll::Ready(None),
            Read::Nothing => Poll::Pending,
        }
    }
}

impl Drop for InboxReader {
    fn drop(&mut self) {
        self.of.table().leave(&self.user, self.inbox);
    }
}

impl fmt::Debug for Inboxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inboxes")
    }
}

/// Wakes readers, not under the lock: a reader may read at once.
fn wake(readers: Vec<Waker>) {
    readers.into_iter().for_each(Waker::wake);
}
