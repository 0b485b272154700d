//! What a slot remembers of the open turn while one actor is lost and the next comes: its callers, and its dismissal.

use tokio::sync::oneshot;

use crate::session::msg::TurnEnd;
use crate::{
    mailbox::answer,
    protocol::{EventKind, SessionEvent, TurnEnding, TurnId},
};

/// The memory of the open turn. A process that ends takes it along, like the callers themselves.
#[derive(Debug, Default)]
pub(super) struct TurnMemory {
    callers: Vec<(TurnId, oneshot::Sender<TurnEnd>)>,
    /// The turn that was dismissed in this process. The store may not have that.
    dismissed: Option<TurnId>,
}

impl TurnMemory {
    /// Adds a caller that waits for the end of a turn. Callers may come and go as long as the turn runs: those that are
    /// gone take no room.
    pub(super) fn wait_for_end(&mut self, turn: TurnId, caller: oneshot::Sender<TurnEnd>) {
        if self.callers.len() == self.callers.capacity() {
            self.callers.retain(|(_, caller)| !caller.is_closed());
        }
        self.callers.push((turn, caller));
    }

    /// Answers the callers of a turn that has ended.
    pub(super) fn ended(&mut self, end: &TurnEnd) {
        for (_, caller) in self.callers.extract_if(.., |(turn, _)| *turn == end.turn) {
            answer(caller, end.clone());
        }
        self.dismissed.take_if(|turn| *turn == end.turn);
    }

    /// Notes that a turn was dismissed.
    pub(super) const fn dismissed(&mut self, turn: TurnId) {
        self.dismissed = Some(turn);
    }

    pub(super) fn is_dismissed(&self, turn: TurnId) -> bool {
        self.dismissed == Some(turn)
    }

    /// Forgets all turns but the open one. The callers of the others hear that the session is closed.
    pub(super) fn keep_only(&mut self, open: Option<TurnId>) {
        self.callers.retain(|(turn, _)| Some(*turn) == open);
        self.dismissed.take_if(|turn| Some(*turn) != open);
    }

    /// Lets all callers hear that the session is closed.
    pub(super) fn leave_callers(&mut self) {
        self.callers.clear();
    }
}

/// Gives the ends of turns that these events tell.
pub(in crate::session) fn ends(events: &[SessionEvent]) -> impl Iterator<Item = TurnEnd> {
    let mut failed = None;
    events.iter().filter_map(move |event| match &event.kind {
        EventKind::Error { error, .. } => {
            failed = Some(error.clone());
            None
        }
        EventKind::TurnEnded { ending, usage } => {
            let error = failed.take().filter(|_| *ending == TurnEnding::Failed);
            Some(TurnEnd { turn: event.turn, ending: *ending, error, usage: *usage })
        }
        _ => None,
    })
}
