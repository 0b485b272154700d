//! The inboxes of a runtime. Each reports to one user the approval requests that open and end, in
//! all sessions.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
};

use super::{
    InboxItem,
    inbox_table::{InboxId, InboxTable},
};
use crate::protocol::{ApprovalEnd, ApprovalRequest, CallId, Limits, UserId};

/// The inboxes of a runtime, with the open requests. Clones share them.
///
/// They live outside of the ConfirmActor, and the calls themselves report to them. So a restart of
/// the actor changes nothing in them: a request is open until its call has recorded how it ended.
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

    /// Watches the requests of this user from now on. The caller bounds the number of inboxes.
    #[must_use]
    pub fn watch(&self, user: &UserId) -> InboxReader {
        let inbox = self.table().watch(user);
        InboxReader { of: self.clone(), user: user.clone(), inbox }
    }

    /// Reports that a person is asked. The request can be decided from now on.
    pub(crate) fn opened(&self, request: Arc<ApprovalRequest>) {
        let woken = self.table().opened(request);
        wake(woken);
    }

    /// Reports how the request of this call ended. If none is open, nothing changes.
    pub(crate) fn ended(&self, user: &UserId, call: CallId, end: ApprovalEnd) {
        let woken = self.table().ended(user, call, end);
        wake(woken);
    }

    /// Ends all inboxes after what they have not read, because the runtime shuts down. Requests
    /// that are open stay open in the ledger.
    pub fn close(&self) {
        let woken = self.table().close();
        wake(woken);
    }

    fn table(&self) -> MutexGuard<'_, InboxTable<Waker>> {
        self.0.lock().expect("no code under this lock panics")
    }
}

impl InboxReader {
    /// Returns the next item, or wakes the context's task as soon as there is one. Returns `None`
    /// after the runtime has shut down.
    pub fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<InboxItem>> {
        self.of.table().read(&self.user, self.inbox, context.waker().clone())
    }
}

impl Drop for InboxReader {
    fn drop(&mut self) {
        self.of.table().leave(&self.user, self.inbox);
    }
}

impl fmt::Debug for Inboxes {
    /// Leaves out the requests, which are those of all users.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inboxes")
    }
}

/// Wakes readers. Must not be called under the lock, because a reader may read at once.
fn wake(readers: Vec<Waker>) {
    readers.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
        task::Wake,
    };

    use uuid::Uuid;

    use super::*;
    use crate::protocol::{CancelReason, Digest, SessionId, Timestamp};

    fn kim() -> UserId {
        UserId::new("kim").unwrap()
    }

    fn request() -> Arc<ApprovalRequest> {
        Arc::new(ApprovalRequest {
            call: CallId::new(Uuid::from_u128(1)),
            session: SessionId::new("s").unwrap(),
            user: kim(),
            tool: "save".into(),
            arguments: serde_json::json!({}).into(),
            consequence: "".into(),
            text: "".into(),
            digest: Digest::new([7; 32]),
            expires_at: Timestamp::from_millis(0),
        })
    }

    #[tokio::test]
    async fn a_reader_that_waits_is_woken_by_each_change() {
        struct Woken(AtomicUsize);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Relaxed);
            }
        }
        let inboxes = Inboxes::new(&Limits::default());
        let woken = Arc::new(Woken(0.into()));
        let mut reader = inboxes.watch(&kim());
        poll_fn(|context| reader.poll_next(context)).await;
        let waker = woken.clone().into();
        let mut waits = || reader.poll_next(&Context::from_waker(&waker)).is_pending();
        let end = ApprovalEnd::Cancelled { reason: CancelReason::Expired };
        let changes: [&dyn Fn(); 3] = [
            &|| inboxes.opened(request()),
            &|| inboxes.ended(&kim(), request().call, end.clone()),
            &|| inboxes.close(),
        ];
        for (count, change) in (1..).zip(changes) {
            assert!(waits());
            change();
            assert_eq!(woken.0.load(Relaxed), count);
            assert!(!waits());
        }
    }

    #[test]
    fn a_reader_that_is_dropped_leaves_nothing() {
        let inboxes = Inboxes::new(&Limits::default());
        let readers = [inboxes.watch(&kim()), inboxes.watch(&kim())];
        assert!(!inboxes.table().is_empty());
        drop(readers);
        assert!(inboxes.table().is_empty());
    }

    #[test]
    fn its_debug_text_names_no_request_of_its_users() {
        let inboxes = Inboxes::new(&Limits::default());
        let reader = inboxes.watch(&kim());
        inboxes.opened(request());
        for text in [format!("{inboxes:?}"), format!("{reader:?}")] {
            assert!(!text.contains("save"), "{text}");
        }
    }
}
