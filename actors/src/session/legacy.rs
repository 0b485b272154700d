//! The turn in which a session's actor was lost: what its door remembers of it, and what nobody was told.

use std::sync::Arc;

use super::Door;
use crate::{
    port::{Store, StoreError},
    protocol::{EventPlace, Limits, SessionEvent, TurnId},
};

/// The turn in which an actor was lost, though the store may not have its end. Until it has, the door keeps itself:
/// another one would not know, and go on with the turn.
#[derive(Debug)]
pub(super) struct GivenUp {
    lost: Lost,
    _kept: Arc<Door>,
}

/// A turn in which an actor was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) turn: TurnId,
    /// Subscribers were told that it is over.
    pub(super) is_told: bool,
}

impl Door {
    /// Its actor is lost in this turn.
    pub(super) fn gives_up(self: &Arc<Self>, lost: Lost) {
        self.set_given_up(Some(GivenUp { lost, _kept: self.clone() }));
    }

    pub(super) fn given_up(&self) -> Option<Lost> {
        self.given_up.lock().expect("no code under this lock panics").as_ref().map(|it| it.lost)
    }

    /// The store has the end of every turn that was given up, or nobody will give it one before the next start.
    pub(super) fn owes_nothing(&self) {
        self.set_given_up(None);
    }

    fn set_given_up(&self, given_up: Option<GivenUp>) {
        let mut place = self.given_up.lock().expect("no code under this lock panics");
        let was = std::mem::replace(&mut *place, given_up);
        drop(place);
        drop(was); // it may be the last that keeps a door
    }

    /// What the store has up to a place and nobody was told: its actor was lost in between.
    pub(super) async fn untold(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        limits: &Limits,
        to: EventPlace,
    ) -> Result<Vec<SessionEvent>, StoreError> {
        let (archive, mut untold) = (self.archive(store, limits), Vec::new());
        let mut next = self.feed().told();
        while let Some(after) = next.filter(|after| *after < to) {
            let (events, rest) = archive.read(after, to).await?;
            untold.extend(events);
            next = rest;
        }
        Ok(untold)
    }
}
