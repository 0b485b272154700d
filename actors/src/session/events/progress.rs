//! The progress of the running calls of a turn: the newest report of each, not a queue.

use crate::protocol::{CallId, EventKind, ToolProgress, TurnId};

/// The newest report of each call that has not ended.
#[derive(Debug, Default)]
pub(super) struct CallsProgress {
    calls: Vec<CallProgress>,
    /// Counts the reports, so that each reader knows which it has read.
    reports: u64,
}

#[derive(Debug)]
struct CallProgress {
    turn: TurnId,
    call: CallId,
    /// The number of its newest report, from 1; 0 before the first.
    number: u64,
    newest: Option<ToolProgress>,
}

impl CallsProgress {
    /// Takes reports of this call from now on.
    pub(super) fn expect(&mut self, turn: TurnId, call: CallId) {
        self.calls.retain(|known| known.call != call);
        self.calls.push(CallProgress { turn, call, number: 0, newest: None });
    }

    /// Takes a report, unless its call has ended.
    pub(super) fn report(&mut self, call: CallId, report: ToolProgress) -> bool {
        let Some(known) = self.calls.iter_mut().find(|known| known.call == call) else {
            return false;
        };
        self.reports += 1;
        (known.number, known.newest) = (self.reports, Some(report));
        true
    }

    /// Forgets the calls that an event ends.
    pub(super) fn on(&mut self, event: &EventKind) {
        if let EventKind::ToolCallEnded { record } = event {
            self.calls.retain(|known| known.call != record.id);
        } else if matches!(event, EventKind::TurnEnded { .. } | EventKind::TurnInterrupted { .. }) {
            self.calls.clear();
        }
    }

    /// Returns the first report after the one with this number, and its number.
    pub(super) fn after(&self, read: u64) -> Option<(u64, TurnId, CallId, ToolProgress)> {
        let unread = self.calls.iter().filter(|known| known.number > read);
        let first = unread.min_by_key(|known| known.number)?;
        Some((first.number, first.turn, first.call, first.newest.clone()?))
    }
}
