//! What a session's actor leaves at its door when it is lost: the turn that it was in, and a chat that only memory has.

use std::sync::Arc;

use crate::session::{Door, msg::TurnEnd, transcript::ChatInMemory};
use crate::{
    port::{Store, StoreError},
    protocol::{EventPlace, Limits, SessionEvent, Timestamp},
};

/// What a lost actor leaves. The next one takes it over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Legacy {
    /// The turn that is given up, though the store may not have its end.
    pub(crate) turn: Option<AbandonedTurn>,
    /// The transcript that only memory has.
    pub(crate) chat: Option<ChatInMemory>,
    /// The last error in words.
    pub(crate) error: Option<String>,
}

/// A turn that its actor does not go on with, and nobody else does.
#[derive(Debug, Clone)]
pub(crate) struct AbandonedTurn {
    /// The end that the store is to have, unless it has one already.
    pub(crate) end: TurnEnd,
    /// When it ended.
    pub(crate) at: Timestamp,
    /// The entry behind which subscribers were told this end; `None`: they were not.
    pub(crate) told_behind: Option<u64>,
}

/// A legacy keeps its door until it is taken over: another door would not know of it, and go on with the turn.
#[derive(Debug)]
pub(crate) struct Kept {
    legacy: Legacy,
    _door: Arc<Door>,
}

impl Door {
    /// Its actor is lost and leaves this.
    pub(crate) fn inherits(self: &Arc<Self>, legacy: Legacy) {
        self.set_legacy(Some(Kept { legacy, _door: self.clone() }));
    }

    /// What the last actor left, if it was lost.
    pub(crate) fn legacy(&self) -> Legacy {
        let kept = self.legacy.lock().expect("no code under this lock panics");
        kept.as_ref().map(|kept| kept.legacy.clone()).unwrap_or_default()
    }

    /// A turn was given up whose end the store may not have.
    pub(crate) fn owes_an_end(&self) -> bool {
        let kept = self.legacy.lock().expect("no code under this lock panics");
        kept.as_ref().is_some_and(|kept| kept.legacy.turn.is_some())
    }

    /// An actor was lost, and the next has not taken over what it left.
    pub(crate) fn has_legacy(&self) -> bool {
        self.legacy.lock().expect("no code under this lock panics").is_some()
    }

    /// What was left is taken over, or left to the next start.
    pub(crate) fn owes_nothing(&self) {
        self.set_legacy(None);
    }

    fn set_legacy(&self, kept: Option<Kept>) {
        let mut place = self.legacy.lock().expect("no code under this lock panics");
        let was = std::mem::replace(&mut *place, kept);
        drop(place);
        drop(was); // it may be the last that keeps a door
    }

    /// What the store has between two places: it was stored, and the actor that would have told it was lost.
    pub(crate) async fn untold(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        limits: &Limits,
        after: EventPlace,
        to: EventPlace,
    ) -> Result<Vec<SessionEvent>, StoreError> {
        let (archive, mut untold) = (self.archive(store, limits), Vec::new());
        let mut next = Some(after);
        while let Some(after) = next.filter(|after| *after < to) {
            let (events, rest) = archive.read(after, to).await?;
            untold.extend(events);
            next = rest;
        }
        Ok(untold)
    }
}
