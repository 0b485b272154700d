//! The status of a turn: whether it runs, or how it ended.

use madang_actors::{
    port::{StoredEnd, StoredTurn},
    protocol::{ApprovalRequest, EventCursor, TurnId},
    session::{RunningTurn, TurnEnd},
};

/// The status of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStatus {
    /// The id of the turn that was asked about.
    pub turn: TurnId,
    /// Whether it runs, or how it ended.
    pub phase: TurnPhase,
    /// The cursor of its first event. A reader that subscribes after [`EventCursor::before`] of it
    /// reads the whole turn. It is [`EventCursor::START`] if the texts of a temporary chat were
    /// erased.
    pub first: EventCursor,
    /// The cursor of its last event so far. If the turn has ended, this is the cursor of its end.
    pub last: EventCursor,
}

/// Whether a turn runs, or how it ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnPhase {
    /// It runs, or waits for a start with a model.
    Running,
    /// It waits for a person.
    Waiting {
        /// The approval request that is open.
        approval_request: Box<ApprovalRequest>,
    },
    /// It has ended.
    Ended(TurnEnd),
}

impl TurnStatus {
    pub(crate) fn running(turn: TurnId, first: u64, running: RunningTurn) -> Self {
        let RunningTurn { last, approval_request } = running;
        let phase = approval_request.map_or(TurnPhase::Running, |approval_request| {
            TurnPhase::Waiting { approval_request: Box::new(approval_request) }
        });
        let first = EventCursor::of_entry(first);
        // The user's message is stored, but may not be published yet.
        Self { turn, phase, first, last: last.max(first) }
    }

    pub(crate) fn of_ended(turn: TurnId, StoredTurn { first, end }: StoredTurn) -> Option<Self> {
        let (behind, StoredEnd { ending, error, usage }) = end?;
        Some(Self {
            turn,
            phase: TurnPhase::Ended(TurnEnd { turn, ending, error, usage }),
            first: EventCursor::of_entry(first),
            last: EventCursor::of_entry(behind).end(),
        })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_running_turn_goes_from_its_first_event_to_the_last_told_or_else_to_the_first() {
        for (told, last) in [("5.2", "6"), ("6", "6"), ("8", "8")] {
            let [told, last] = [told, last].map(|cursor| cursor.parse().unwrap());
            let running = RunningTurn { last: told, approval_request: None };
            let status = TurnStatus::running(TurnId::new(Uuid::nil()), 6, running);
            assert_eq!((status.first, status.last), (EventCursor::of_entry(6), last));
        }
    }
}
