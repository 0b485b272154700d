//! The doors of a runtime: one for each session of which anything is in memory.

use std::sync::{Arc, Weak};

use tokio::sync::oneshot;
use tracing::warn;

use crate::protocol::{Limits, SessionId, UserId};
use crate::session::{Door, SessionMsg, lifecycle::registry_state::House};

/// The doors of a runtime, as long as anybody holds them.
#[derive(Debug, Default)]
pub struct Doors(Arc<House>);

impl Doors {
    /// The door of a session, which is this user's; `None` if it is another's.
    #[must_use]
    pub fn door(&self, session: &SessionId, user: &UserId, limits: &Limits) -> Option<Arc<Door>> {
        let mut doors = self.0.doors();
        let door = doors.get(session).and_then(Weak::upgrade).unwrap_or_else(|| {
            let door = Arc::new(Door::new(session, user, limits, &self.0));
            doors.insert(session.clone(), Arc::downgrade(&door));
            door
        });
        drop(doors);
        (door.user() == user).then_some(door)
    }

    /// How many sessions anything of is in memory.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.doors().len()
    }

    #[cfg(test)]
    pub(crate) const fn house(&self) -> &Arc<House> {
        &self.0
    }

    /// Asks every session that is awake to stop its turn and to end, and waits until they have.
    pub async fn close(&self) {
        let mut doors: Vec<_> = self.0.doors().values().filter_map(Weak::upgrade).collect();
        // The same order every time, which a simulation repeats.
        doors.sort_unstable_by(|one, other| one.session().cmp(other.session()));
        let awake = doors.iter().filter_map(|door| door.awake());
        let asked = awake.filter_map(|session| {
            let (reply, closed) = oneshot::channel();
            session.cast(SessionMsg::Close { reply }).is_ok().then_some(closed)
        });
        // All are asked before the first is waited for.
        for closed in asked.collect::<Vec<_>>() {
            if closed.await.is_err() {
                warn!("a session ended before it was closed");
            }
        }
    }
}
