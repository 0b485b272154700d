//! One turn for each idempotency key: a repeated submit finds the turn of the first.

use ractor::ActorRef;
use tokio::sync::oneshot;
use tracing::debug;

use crate::session::{
    msg::{SessionMsg, TurnEnd, TurnRefused, TurnRequest},
    state::SessionState,
};
use crate::{
    failpoint::failpoint,
    ledger::text_digest,
    mailbox::answer,
    port::{StoreError, StoredEnd, SubmittedTurn},
    protocol::TurnId,
};

impl SessionState {
    /// Joins the running turn of the same key, or asks the store whether there was one.
    pub(in crate::session) fn submit(&mut self, asked: TurnRequest) {
        let Some(key) = asked.options.key.clone() else { return self.begin(asked) };
        if self.runs(&asked) {
            return self.join(asked);
        }
        self.lookups += 1;
        let turns_begun = self.turns_begun;
        let (slot, context) = (self.slot.clone(), self.context.clone());
        let (to, asked) = (self.me.clone(), Some(Box::new(asked)));
        let lookup = Lookup { to, asked, turns_begun, found: Err(StoreError::Silent) };
        self.context.tasks.spawn(lookup.wait(async move {
            failpoint("idempotency.finds").await?;
            context.store.store().submitted(slot.session(), &key).await
        }));
    }

    /// Handles the store's answer about a key.
    pub(in crate::session) fn submitted(
        &mut self,
        asked: TurnRequest,
        found: Result<Option<SubmittedTurn>, StoreError>,
        turns_begun: u64,
    ) {
        self.lookups -= 1;
        let found = match found {
            Ok(found) => found,
            Err(cause) => return answer(asked.began, Err(TurnRefused::Store(cause))),
        };
        match found {
            Some(SubmittedTurn { text, .. }) if text != text_digest(&asked.text) => {
                answer(asked.began, Err(TurnRefused::OtherText));
            }
            Some(SubmittedTurn { turn, end: Some(end), .. }) => {
                let StoredEnd { ending, error, usage } = end;
                answer(asked.began, Ok(turn));
                answer(asked.ended, TurnEnd { turn, ending, error, usage });
            }
            // It ended between the question and the answer; or the runtime closes, and another will go on with it.
            Some(SubmittedTurn { end: None, .. }) if self.is_closing() => {
                answer(asked.began, Err(TurnRefused::Closed));
            }
            Some(SubmittedTurn { end: None, .. }) => self.submit(asked),
            // The turn that began since may be that of this key.
            None if turns_begun != self.turns_begun => self.submit(asked),
            None => self.begin(asked),
        }
    }

    /// Joins the running turn, if there is one.
    pub(in crate::session) fn attach(&mut self, ended: oneshot::Sender<TurnEnd>) -> Option<TurnId> {
        let turn = self.turn.as_mut().filter(|turn| !turn.core.is_suspended())?;
        wait_too(&mut turn.ended, ended);
        Some(turn.id)
    }

    /// Tells whether the turn of this key runs.
    fn runs(&self, asked: &TurnRequest) -> bool {
        self.turn
            .as_ref()
            .is_some_and(|turn| turn.options.key == asked.options.key && !turn.core.is_suspended())
    }

    fn join(&mut self, asked: TurnRequest) {
        let Some(turn) = self.turn.as_mut() else { return };
        if turn.text != text_digest(&asked.text) {
            return answer(asked.began, Err(TurnRefused::OtherText));
        }
        match &mut turn.began {
            Some(waiting) => wait_too(waiting, asked.began),
            None => answer(asked.began, Ok(turn.id)),
        }
        wait_too(&mut turn.ended, asked.ended);
    }
}

/// Adds a caller that waits. A caller may be gone at once, and another come, as long as the turn runs: those that are gone
/// take no room.
fn wait_too<T>(waiting: &mut Vec<oneshot::Sender<T>>, caller: oneshot::Sender<T>) {
    if waiting.len() == waiting.capacity() {
        waiting.retain(|caller| !caller.is_closed());
    }
    waiting.push(caller);
}

/// Tells the session what the store has of a key, once, even where the store panics. The session waits for it.
struct Lookup {
    to: ActorRef<SessionMsg>,
    asked: Option<Box<TurnRequest>>,
    found: Result<Option<SubmittedTurn>, StoreError>,
    turns_begun: u64,
}

impl Lookup {
    async fn wait(
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
        if self.to.cast(SessionMsg::Submitted { asked, found, turns_begun }).is_err() {
            debug!("the session ended before the turn of a key was found");
        }
    }
}
