//! Reading a session's events through its slot, which finds in the store what has left the memory.

use std::sync::Arc;

use crate::session::{
    events::{replay::Replay, subscription::Subscription},
    lifecycle::slot::SessionSlot,
};
use crate::{
    port::{Store, StoreError},
    protocol::{EventCursor, FeedCursor, Languages, Limits, SessionEvent},
};

impl SessionSlot {
    /// Subscribes from here on. Missed events are read from the store.
    #[must_use]
    pub fn subscribe(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        limits: &Limits,
        languages: &Languages,
    ) -> Subscription {
        self.feed().subscribe().with(self.replay(store, limits, languages))
    }

    /// Subscribes from here on, and does not count as the first subscriber of a resumed turn.
    #[must_use]
    pub fn watch(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        limits: &Limits,
        languages: &Languages,
    ) -> Subscription {
        self.feed().watch().with(self.replay(store, limits, languages))
    }

    /// Subscribes behind a cursor. The session must have woken since the slot was made, or earlier events count as
    /// missed.
    #[must_use]
    pub fn subscribe_after(
        self: &Arc<Self>,
        cursor: impl Into<FeedCursor>,
        store: &Arc<dyn Store>,
        limits: &Limits,
        languages: &Languages,
    ) -> Subscription {
        self.feed().subscribe_after(cursor.into(), self.replay(store, limits, languages))
    }

    /// Reads what the store has between two cursors: it was stored, and the actor that would have published it was
    /// lost.
    pub(super) async fn unpublished(
        self: &Arc<Self>,
        (after, to): (EventCursor, EventCursor),
        store: &Arc<dyn Store>,
        limits: &Limits,
        languages: &Languages,
    ) -> Result<Vec<SessionEvent>, StoreError> {
        let (replay, mut unpublished) = (self.replay(store, limits, languages), Vec::new());
        let mut next = Some(after);
        while let Some(after) = next.filter(|after| *after < to) {
            let (events, rest) = replay.read(after, to).await?;
            unpublished.extend(events);
            next = rest;
        }
        Ok(unpublished)
    }

    fn replay(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        limits: &Limits,
        languages: &Languages,
    ) -> Replay {
        let (session, slot) = (self.session().clone(), self.clone());
        Replay::new(session, slot, store.clone(), limits, languages.clone())
    }
}
