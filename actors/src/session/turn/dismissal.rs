//! Dismissing the running turn, and leaving it in order when the runtime shuts down.

use tokio::sync::oneshot;

use crate::session::{
    error::Error,
    msg::{Outgoing, Purpose},
    request::{DismissalStored, When},
    state::SessionState,
    turn::active::ActiveTurn,
    turn::machine::TurnInput,
};
use crate::{
    mailbox::answer,
    port::{TurnStep, Write},
    protocol::{OnDismiss, TurnId},
};

impl SessionState {
    /// Returns whether no turn begins any more.
    pub(in crate::session) fn is_closing(&self) -> bool {
        self.closing.is_some() || self.outbox.runtime_closes()
    }

    /// Dismisses the turn that runs, or this one only and on this condition.
    pub(in crate::session) fn dismiss_only(
        &mut self,
        only: Option<(TurnId, When)>,
    ) -> Result<DismissalStored, Error> {
        let running = self.turn.as_ref().filter(|turn| !turn.core.is_over());
        let is_any = |turn| only.is_none_or(|(id, when)| id == turn && when == When::Any);
        if let Some(turn) = self.waits_for_model().filter(|turn| is_any(*turn)) {
            return Ok(self.dismiss_waiting(turn));
        }
        let Some(turn) = running else {
            // The store may have an open turn that is left to the next start.
            return Err(if self.is_closing() { Error::Closed } else { Error::NoTurn });
        };
        let is_meant = only.is_none_or(|(id, when)| {
            turn.id == id
                && match when {
                    When::Any => true,
                    // The news that a person has decided may be on its way: the call itself knows.
                    When::Waits => {
                        turn.approval_request().is_some() && turn.cancellation.forbid_decision()
                    }
                }
        });
        if is_meant { self.dismiss() } else { Err(Error::NoTurn) }
    }

    /// Dismisses a turn that waits for a start with a model. That start ends it, or finishes it if it
    /// is to go on.
    fn dismiss_waiting(&self, turn: TurnId) -> DismissalStored {
        let (dismissed, stored) = oneshot::channel();
        self.outbox.turn_memory().dismissed(turn);
        let session = self.outbox.session().clone();
        let at = self.outbox.now();
        let step = Write::Turn { session, turn, at, step: TurnStep::Dismissed };
        let purpose = Purpose::Dismiss(turn, vec![dismissed]);
        self.outbox.store([step], Outgoing::new(purpose));
        stored
    }

    /// Dismisses the turn that runs. The store has that before it has anything that the session
    /// writes later.
    fn dismiss(&mut self) -> Result<DismissalStored, Error> {
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.core.is_over()) else {
            return Err(Error::NoTurn);
        };
        let (dismissed, stored) = oneshot::channel();
        turn.dismissed.push(dismissed);
        self.outbox.turn_memory().dismissed(turn.id);
        turn.dismiss();
        if turn.options.on_dismiss == OnDismiss::Finish {
            self.outbox.feed().close_subscriptions();
        }
        let spoken = self.outbox.feed().spoken();
        self.on(TurnInput::Dismissed { spoken });
        // A turn that waits for room needs none to end.
        let ends = |turn: &ActiveTurn| {
            turn.permit.is_none() && turn.core.is_opening() && turn.core.is_stopped()
        };
        if self.turn.as_ref().is_some_and(ends) {
            self.on(TurnInput::Opened);
        }
        // If the turn goes on to its end, a crash on the way must not lose the dismissal.
        self.step(TurnStep::Dismissed, |turn| {
            Purpose::Dismiss(turn.id, std::mem::take(&mut turn.dismissed))
        });
        Ok(stored)
    }

    /// Stores a step of the running turn for this purpose, unless its end is on the way to the store.
    pub(super) fn step(
        &mut self,
        step: TurnStep,
        purpose: impl FnOnce(&mut ActiveTurn) -> Purpose,
    ) {
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.core.is_over()) else { return };
        let session = self.outbox.session().clone();
        let at = self.outbox.now();
        let id = turn.id;
        let purpose = purpose(turn);
        let step = Write::Turn { session, turn: id, at, step };
        self.outbox.store([step], Outgoing::new(purpose));
    }

    /// Leaves a turn to the next start. Its model stops, calls that have not begun stay as they are
    /// in the ledger, and running calls end first.
    pub(in crate::session) fn close(&mut self, reply: oneshot::Sender<()>) {
        self.closing = Some(reply);
        self.on(TurnInput::Suspended);
        self.outbox.feed().silence();
        self.step(TurnStep::Suspended, |turn| Purpose::Suspend(turn.id));
    }

    /// Ends the session, if it was asked to, nothing of it runs any more and every message is
    /// answered. A later message wakes it again.
    pub(in crate::session) fn end_if_closing(&mut self) {
        let is_quiet =
            self.turn.as_ref().is_none_or(|turn| turn.core.is_suspended() && turn.is_quiet());
        let has_ended = is_quiet && !self.has_exclusive_write && self.lookups == 0;
        if self.closing.is_some()
            && has_ended
            && self.outbox.sleep()
            && let Some(reply) = self.closing.take()
        {
            answer(reply, ());
        }
    }
}
