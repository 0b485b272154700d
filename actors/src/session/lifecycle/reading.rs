//! Reading a session's events through its slot, which finds in the store what is no longer in
//! memory.

use std::sync::Arc;

use crate::session::{
    events::{replay::Replay, subscription::Subscription},
    lifecycle::slot::SessionSlot,
};
use crate::{
    dispatcher::CallContext,
    port::StoreError,
    protocol::{EventCursor, FeedCursor, SessionEvent},
};

impl SessionSlot {
    /// Subscribes from now on. Missed events are read from the store.
    #[must_use]
    pub fn subscribe(self: &Arc<Self>, calls: &CallContext) -> Subscription {
        self.feed().subscribe().with(self.replay(calls))
    }

    /// Subscribes from now on, without counting as the first subscriber of a resumed turn.
    #[must_use]
    pub fn watch(self: &Arc<Self>, calls: &CallContext) -> Subscription {
        self.feed().watch().with(self.replay(calls))
    }

    /// Subscribes after a cursor. The session must have woken since the slot was made, or earlier
    /// events count as missed.
    #[must_use]
    pub fn subscribe_after(
        self: &Arc<Self>,
        cursor: impl Into<FeedCursor>,
        calls: &CallContext,
    ) -> Subscription {
        self.feed().subscribe_after(cursor.into(), self.replay(calls))
    }

    /// Reads what the store has between two cursors: it was stored, and the actor that would have
    /// published it was lost.
    pub(super) async fn unpublished(
        self: &Arc<Self>,
        (after, to): (EventCursor, EventCursor),
        calls: &CallContext,
    ) -> Result<Vec<SessionEvent>, StoreError> {
        let replay = self.replay(calls);
        let mut unpublished = Vec::new();
        let mut next = Some(after);
        while let Some(after) = next.filter(|after| *after < to) {
            let (events, rest) = replay.read(after, to).await?;
            unpublished.extend(events);
            next = rest;
        }
        Ok(unpublished)
    }

    fn replay(self: &Arc<Self>, calls: &CallContext) -> Replay {
        Replay::new(self.session().clone(), self.clone(), calls)
    }
}
