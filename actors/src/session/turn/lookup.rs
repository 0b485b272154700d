//! The question whether the store has the turn of a key, which the session waits for.

use ractor::ActorRef;
use tracing::debug;

use crate::port::{StoreError, SubmittedTurn};
use crate::session::{msg::SessionMsg, request::TurnRequest};

/// Reports to the session what the store has for a key, once, even if the store panics. The session
/// waits for it.
pub(in crate::session) struct Lookup {
    to: ActorRef<SessionMsg>,
    asked: Option<Box<TurnRequest>>,
    found: Result<Option<SubmittedTurn>, StoreError>,
    turns_begun: u64,
}

impl Lookup {
    pub(in crate::session) fn new(
        to: ActorRef<SessionMsg>,
        asked: TurnRequest,
        turns_begun: u64,
    ) -> Self {
        Self { to, asked: Some(Box::new(asked)), found: Err(StoreError::Silent), turns_begun }
    }

    pub(in crate::session) async fn wait(
        mut self,
        found: impl Future<Output = Result<Option<SubmittedTurn>, StoreError>>,
    ) {
        self.found = found.await;
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        let Some(asked) = self.asked.take() else { return };
        let found = std::mem::replace(&mut self.found, Ok(None));
        let turns_begun = self.turns_begun;
        if self.to.cast(SessionMsg::LookedUp { asked, found, turns_begun }).is_err() {
            debug!("the session ended before the turn of a key was found");
        }
    }
}
