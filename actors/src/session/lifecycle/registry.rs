//! The slots of a runtime: one for each session with anything in memory.

use std::sync::{Arc, Weak};

use tokio::sync::oneshot;
use tracing::warn;

use crate::protocol::{Limits, SessionId, UserId};
use crate::session::{SessionMsg, SessionSlot, lifecycle::registry_state::RegistryState};

/// The slots of a runtime, as long as they have holders. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct SessionRegistry(Arc<RegistryState<SessionSlot>>);

impl SessionRegistry {
    /// Finds or makes the slot of a session of this user. Returns `None` if it is another user's.
    #[must_use]
    pub fn slot(
        &self,
        session: &SessionId,
        user: &UserId,
        limits: &Limits,
    ) -> Option<Arc<SessionSlot>> {
        let mut slots = self.0.slots();
        let slot = slots.get(session).and_then(Weak::upgrade).unwrap_or_else(|| {
            let slot = Arc::new(SessionSlot::new(session, user, limits, &self.0));
            slots.insert(session.clone(), Arc::downgrade(&slot));
            slot
        });
        drop(slots);
        (slot.user() == user).then_some(slot)
    }

    /// Counts the sessions with anything in memory.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.slots().len()
    }

    #[cfg(test)]
    pub(super) const fn state(&self) -> &Arc<RegistryState<SessionSlot>> {
        &self.0
    }

    /// Asks every awake session to stop its turn and to end, and waits until they have.
    pub async fn close(&self) {
        let mut slots: Vec<_> = self.0.slots().values().filter_map(Weak::upgrade).collect();
        // The same order every time, which a simulation repeats.
        slots.sort_unstable_by(|one, other| one.session().cmp(other.session()));
        let awake = slots.iter().filter_map(|slot| slot.awake());
        let asked = awake.filter_map(|session| {
            let (reply, closed) = oneshot::channel();
            session.cast(SessionMsg::Close { reply }).is_ok().then_some(closed)
        });
        // All are asked before the first is awaited.
        for closed in asked.collect::<Vec<_>>() {
            if closed.await.is_err() {
                warn!("a session ended before it was closed");
            }
        }
    }
}
