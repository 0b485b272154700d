//! The state that the slots of a runtime share: the table of slots, and the idle sessions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, Weak},
};

use crate::protocol::{SessionId, UserId};
use crate::session::lifecycle::idle::IdleLru;

/// The state that the slots of a runtime, of type `S`, share. Plain mutexes: they are held for a
/// lookup. No slot is dropped under them, because its drop takes the first.
#[derive(Debug)]
pub(in crate::session) struct RegistryState<S> {
    slots: Mutex<HashMap<SessionId, Weak<S>>>,
    idle: Mutex<IdleLru<Weak<S>>>,
}

impl<S> Default for RegistryState<S> {
    fn default() -> Self {
        Self { slots: Mutex::default(), idle: Mutex::default() }
    }
}

impl<S> RegistryState<S> {
    pub(super) fn slots(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<S>>> {
        self.slots.lock().expect("no code under this lock panics")
    }

    /// Removes the slot of a session after its last holder is gone.
    pub(super) fn leave(&self, session: &SessionId) {
        let mut slots = self.slots();
        // Another slot may be there already: made in between, because this one could not be
        // upgraded any more.
        if slots.get(session).is_some_and(|slot| slot.strong_count() == 0) {
            slots.remove(session);
        }
        if let Some(room) = too_much_room(slots.len(), slots.capacity()) {
            slots.shrink_to(room);
        }
    }

    /// Removes this slot of a session, although it has holders.
    pub(super) fn remove(&self, session: &SessionId, slot: &S) {
        let mut slots = self.slots();
        if slots.get(session).is_some_and(|found| std::ptr::eq(found.as_ptr(), slot)) {
            slots.remove(session);
        }
    }

    pub(super) fn idle(&self) -> MutexGuard<'_, IdleLru<Weak<S>>> {
        self.idle.lock().expect("no code under this lock panics")
    }
}

/// The entry of an idle session.
#[derive(Debug)]
pub(in crate::session) struct IdleEntry<S> {
    state: Arc<RegistryState<S>>,
    user: UserId,
    number: u64,
}

impl<S> IdleEntry<S> {
    pub(in crate::session) fn new(
        state: &Arc<RegistryState<S>>,
        slot: &Arc<S>,
        user: &UserId,
    ) -> Self {
        let user = user.clone();
        let number = state.idle().enter(user.clone(), Arc::downgrade(slot));
        Self { state: state.clone(), user, number }
    }
}

impl<S> Drop for IdleEntry<S> {
    fn drop(&mut self) {
        let _ = self.state.idle().leave(&self.user, self.number);
    }
}

/// Returns the capacity to which a table of this length and capacity shrinks, or `None` if it stays
/// as it is.
fn too_much_room(len: usize, capacity: usize) -> Option<usize> {
    const SMALLEST: usize = 1_024;
    (capacity > SMALLEST && len < capacity / 4).then_some(len * 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Limits,
        session::SessionRegistry,
        test_runtime::{kim, session},
    };

    #[test]
    fn a_table_shrinks_where_it_is_large_and_more_than_three_quarters_of_it_are_free() {
        for (len, capacity, expected) in [
            (0, 1_024, None),
            (0, 1_025, Some(0)),
            (1_000, 1_100, None),
            (300, 1_200, None),
            (299, 1_200, Some(598)),
        ] {
            assert_eq!(too_much_room(len, capacity), expected, "{len} of {capacity}");
        }
    }

    #[test]
    fn nothing_stays_of_slots_without_a_holder() {
        let slots = SessionRegistry::default();
        let limits = Limits::default();
        let slot = |number: u32| slots.slot(&session(&number.to_string()), &kim(), &limits);
        let all: Vec<_> = (0..5_000).map(slot).collect();
        let state = slots.state().clone();
        let before = state.slots().capacity();
        assert_eq!(slots.count(), 5_000);
        drop(all);
        assert_eq!(slots.count(), 0);
        let after = state.slots().capacity();
        assert!(after < before / 2, "{after} of {before}");
    }
}
