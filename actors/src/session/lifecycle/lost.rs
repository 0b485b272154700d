//! The report of a session that lost its actor in mid-turn.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::protocol::{Locale, TurnId};
use crate::session::SessionSlot;

/// The channel on which actors report that they are lost.
#[derive(Debug, Clone)]
pub struct LostSessions(mpsc::UnboundedSender<LostSession>);

/// A session that lost its actor in mid-turn.
#[derive(Debug)]
pub(in crate::session) struct LostSession {
    pub(in crate::session) slot: Arc<SessionSlot>,
    /// The turn and its locale. `None` if readers do not know of it.
    pub(in crate::session) turn: Option<(TurnId, Locale)>,
}

impl LostSessions {
    pub(super) const fn new(reports: mpsc::UnboundedSender<LostSession>) -> Self {
        Self(reports)
    }

    /// Reports a session, which goes on as soon as it can.
    pub(in crate::session) fn report(&self, lost: LostSession) {
        if lost.slot.turn().begins_to_go_on() {
            // Without a receiver the runtime is gone, and the next start goes on.
            let _ = self.0.send(lost);
        }
    }
}
