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
};

/// The open approval requests of a user, in all sessions and of calls without a model, as a
/// [`Stream`]. The first item is a [`Snapshot`](InboxItem::Snapshot) of them, and each later one is
/// a change. [`next`](Self::next) reads the stream without a crate for streams, and
/// [`User::decide`](crate::User::decide) decides about a request.
///
/// A slow reader holds nothing up. If more than
/// [`Limits::max_inbox_changes`](crate::Limits::max_inbox_changes) changes are unread, it receives
/// a snapshot again. Dropping the inbox ends it at once; the requests stay open.
#[derive(Debug)]
pub struct Inbox {
    reader: InboxReader,
    _permit: Permit,
}

impl Inbox {
    pub(crate) const fn new(reader: InboxReader, permit: Permit) -> Self {
        Self { reader, _permit: permit }
    }

    /// Waits for the next item. Returns `None` after the runtime has shut down; open requests then
    /// stay open and are asked again after the next start. Dropping the future loses nothing.
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
