//! What outlives an actor of the open turn: its callers, its dismissal, and whether a task makes it
//! go on.

use std::sync::{
    Mutex, MutexGuard,
    atomic::{
        AtomicBool, AtomicU32,
        Ordering::{Relaxed, SeqCst},
    },
};

use tokio::sync::oneshot;

use crate::session::request::TurnEnd;
use crate::{
    mailbox::answer,
    protocol::{EventKind, SessionEvent, TurnId},
};

/// The memory of the open turn while one actor is lost and the next comes. It ends with the
/// process, as the callers do.
#[derive(Debug, Default)]
pub(in crate::session) struct TurnMemory {
    known: Mutex<Known>,
    /// Whether the turn must go on. One task then wakes the session, and tries again until it is
    /// awake.
    must_go_on: AtomicBool,
    /// The tries of that task since the store last took a write of the session.
    tries: AtomicU32,
}

#[derive(Debug, Default)]
struct Known {
    callers: Vec<(TurnId, oneshot::Sender<TurnEnd>)>,
    /// The last turn that was dismissed in this process. The store may not have that.
    dismissed: Option<TurnId>,
}

impl TurnMemory {
    /// Adds a caller that waits for the end of a turn, whichever actor ends it. Callers may come
    /// and go as long as the turn runs, and those that are gone take no room.
    pub(in crate::session) fn wait_for_end(&self, turn: TurnId, caller: oneshot::Sender<TurnEnd>) {
        let mut known = self.known();
        if known.callers.len() == known.callers.capacity() {
            known.callers.retain(|(_, caller)| !caller.is_closed());
        }
        known.callers.push((turn, caller));
    }

    /// Answers the callers of a turn, after its end was published.
    pub(in crate::session) fn ended(&self, end: &TurnEnd) {
        for (_, caller) in self.known().callers.extract_if(.., |(turn, _)| *turn == end.turn) {
            answer(caller, end.clone());
        }
    }

    /// Notes that a turn was dismissed. The next actor knows it, even if the store does not.
    pub(in crate::session) fn dismissed(&self, turn: TurnId) {
        self.known().dismissed = Some(turn);
    }

    pub(in crate::session) fn is_dismissed(&self, turn: TurnId) -> bool {
        self.known().dismissed == Some(turn)
    }

    /// Leaves the callers of all turns but the open one. They learn that the session is closed.
    pub(in crate::session) fn keep_only(&self, open: Option<TurnId>) {
        self.known().callers.retain(|(turn, _)| Some(*turn) == open);
    }

    /// Leaves all callers, who learn that the session is closed.
    pub(in crate::session) fn leave_callers(&self) {
        self.known().callers.clear();
    }

    /// Marks that the turn must go on. True if the caller must see to it, because no task does.
    #[must_use]
    pub(in crate::session) fn begins_to_go_on(&self) -> bool {
        !self.must_go_on.swap(true, SeqCst)
    }

    /// Takes that mark away: the turn goes on, or the runtime ends.
    pub(in crate::session) fn ends_to_go_on(&self) {
        self.must_go_on.store(false, SeqCst);
    }

    pub(super) fn must_go_on(&self) -> bool {
        self.must_go_on.load(SeqCst)
    }

    /// Counts an attempt to go on, and returns the number of earlier ones.
    pub(in crate::session) fn count_try(&self) -> u32 {
        self.tries.fetch_add(1, Relaxed)
    }

    /// Notes that the store takes writes of the session.
    pub(in crate::session) fn is_stored(&self) {
        self.tries.store(0, Relaxed);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("no code under this lock panics")
    }
}

/// Returns the ends of turns among these events.
pub(in crate::session) fn ends(events: &[SessionEvent]) -> impl Iterator<Item = TurnEnd> {
    let mut failed = None;
    events.iter().filter_map(move |event| match &event.kind {
        EventKind::Error { error, .. } => {
            failed = Some(error.clone());
            None
        }
        EventKind::TurnEnded { ending, usage } => {
            Some(TurnEnd { turn: event.turn, ending: *ending, error: failed.take(), usage: *usage })
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn callers_that_are_gone_take_no_room() {
        let memory = TurnMemory::default();
        let turn = TurnId::new(Uuid::from_u128(1));
        let (stays, _end) = oneshot::channel();
        memory.wait_for_end(turn, stays);
        for _ in 0..1_000 {
            memory.wait_for_end(turn, oneshot::channel().0);
        }
        let callers = memory.known().callers.len();
        assert!(callers < 16, "{callers}");
    }
}
