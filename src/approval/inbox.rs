//! A user's inbox: the approval requests that are open in all sessions, and each change of them.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use madang_actors::{
    admission::Permit,
    approval::{InboxItem, InboxReader},
    protocol::{Bound, UserId},
};

use crate::{Runtime, error::InboxError};

/// The open approval requests of a user, in all sessions and of calls without a model, as a [`Stream`]. The first item
/// is a [`Snapshot`](InboxItem::Snapshot) of them; each later one is a change. [`next`](Self::next) reads it without
/// another crate. [`Runtime::decide`] decides about a request.
///
/// A slow reader holds nothing up. Behind [`Limits::max_inbox_changes`](crate::Limits::max_inbox_changes) unread changes
/// it reads a snapshot again. Dropping the inbox ends it at once.
#[derive(Debug)]
pub struct Inbox {
    reader: InboxReader,
    _permit: Permit,
}

impl Runtime {
    /// Opens an inbox of this user. It is complete also after a start: sessions of the user that were cut off with an
    /// open request wake first. The future waits for them, at most [`Limits::ask_timeout`](crate::Limits::ask_timeout).
    /// A request of a session that takes longer comes as a change.
    ///
    /// Dropping the future opens nothing; sessions that woke go on.
    ///
    /// # Errors
    /// [`InboxError`] says why there is no inbox.
    pub async fn inbox(&self, user: &UserId) -> Result<Inbox, InboxError> {
        if self.shared().is_closing() {
            return Err(InboxError::Closed);
        }
        let calls = &self.shared().handles.calls;
        let permit = calls.admission.admit(Bound::Inboxes, user, 1);
        let permit = permit.map_err(InboxError::Overloaded)?;
        self.ask_again(user).await;
        Ok(Inbox { reader: calls.inboxes.watch(user), _permit: permit })
    }
}

impl Inbox {
    /// Waits for the next item; `None` once the runtime has shut down. Open requests stay open then, and are asked again
    /// after the next start. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<InboxItem> {
        poll_fn(|context| self.reader.poll_next(context)).await
    }
}

impl Stream for Inbox {
    type Item = InboxItem;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<InboxItem>> {
        self.reader.poll_next(context)
    }
}
