//! What a lost actor leaves at its slot: the turn that it was in, and a chat that only memory has.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::session::{SessionSlot, msg::TurnEnd, transcript::ChatInMemory};
use crate::{
    mailbox::answer,
    port::{Store, StoreError},
    protocol::{EventCursor, Languages, Limits, Locale, SessionEvent, Timestamp},
};

/// The remains of a lost actor. The next actor takes them over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handover {
    /// The abandoned turn, whose end the store may not have.
    pub(crate) turn: Option<AbandonedTurn>,
    /// The transcript that only memory has.
    pub(crate) chat: Option<ChatInMemory>,
    /// The last error in words.
    pub(crate) error: Option<String>,
}

/// A turn that no actor of this process goes on with. Its end is told when the store has it, and not before.
#[derive(Debug, Clone)]
pub(crate) struct AbandonedTurn {
    /// The end that the store is to have, unless it has one already, and when it ended.
    pub(crate) end: (TurnEnd, Timestamp),
    /// The end that was on its way to the store.
    pub(crate) sent_end: Option<(TurnEnd, Timestamp)>,
    /// Whether subscribers were told of the turn.
    pub(crate) has_begun: bool,
    pub(crate) locale: Locale,
    pub(crate) waiting: WaitingForEnd,
}

/// The callers that wait for the end of an abandoned turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitingForEnd(Arc<Mutex<Vec<oneshot::Sender<TurnEnd>>>>);

impl WaitingForEnd {
    pub(crate) fn new(waiting: Vec<oneshot::Sender<TurnEnd>>) -> Self {
        Self(Arc::new(Mutex::new(waiting)))
    }

    /// Tells each caller the end, or without one that the session is closed.
    pub(crate) fn complete(&self, end: Option<&TurnEnd>) {
        let waiting = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(end) = end {
            waiting.into_iter().for_each(|ended| answer(ended, end.clone()));
        }
    }
}

/// A handover keeps its slot until it is taken over: another slot would not know of it, and would go on with the turn.
#[derive(Debug)]
pub(crate) struct KeptHandover {
    handover: Handover,
    _slot: Arc<SessionSlot>,
}

impl SessionSlot {
    /// Leaves the handover of a lost actor.
    pub(crate) fn hand_over(self: &Arc<Self>, handover: Handover) {
        self.set_handover(Some(KeptHandover { handover, _slot: self.clone() }));
    }

    /// Gives the handover of the last actor, if it was lost.
    pub(crate) fn handover(&self) -> Handover {
        let kept = self.handover.lock().expect("no code under this lock panics");
        kept.as_ref().map(|kept| kept.handover.clone()).unwrap_or_default()
    }

    /// Tells whether a turn was abandoned whose end the store may not have.
    pub(crate) fn has_abandoned_turn(&self) -> bool {
        let kept = self.handover.lock().expect("no code under this lock panics");
        kept.as_ref().is_some_and(|kept| kept.handover.turn.is_some())
    }

    /// Tells whether an actor was lost, and the next has not taken over.
    pub(crate) fn has_handover(&self) -> bool {
        self.handover.lock().expect("no code under this lock panics").is_some()
    }

    /// Removes the handover, which is taken over or left to the next start.
    pub(crate) fn handover_taken(&self) {
        self.set_handover(None);
    }

    fn set_handover(&self, kept: Option<KeptHandover>) {
        let mut current = self.handover.lock().expect("no code under this lock panics");
        let before = std::mem::replace(&mut *current, kept);
        drop(current);
        drop(before); // it may be the last holder of a slot
    }

    /// Reads what the store has between two cursors: it was stored, and the actor that would have published it was
    /// lost.
    pub(crate) async fn unpublished(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        limits: &Limits,
        languages: &Languages,
        after: EventCursor,
        to: EventCursor,
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
}
