//! One turn of a session, named by its id: how it stands, and its dismissal.

use crate::{Session, error::SessionError, turn_handle::Dismissed};
use madang_actors::{
    port::{StoredEnd, StoredTurn},
    protocol::{ApprovalRequest, EventCursor, TurnId},
    session::{DismissError, RunningTurn, SessionRequest, TurnEnd, When},
};

/// How a turn stands.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStatus {
    /// The id of the turn that was asked about.
    pub turn: TurnId,
    /// Whether it runs, or how it ended.
    pub phase: TurnPhase,
    /// The cursor of its first event. A reader that subscribes behind [`EventCursor::before`] of it reads the whole turn.
    /// [`EventCursor::START`] where the texts of a temporary chat were erased.
    pub first: EventCursor,
    /// The cursor of its last event until now; of an ended turn, that of its end.
    pub last: EventCursor,
}

/// Whether a turn runs, or how it ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnPhase {
    /// It runs.
    Running,
    /// It waits for a person.
    Waiting {
        /// The approval request that is open.
        approval_request: Box<ApprovalRequest>,
    },
    /// It has ended.
    Ended(TurnEnd),
}

impl Session {
    /// Tells how a turn of this session stands, also one of long ago; `None` where no such turn has begun. An ended turn
    /// is read from the store, and does not wake the session.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store cannot be read. [`SessionError::Overloaded`] or [`SessionError::Closed`] if
    /// the turn is open and the session cannot be reached.
    pub async fn turn_status(&self, turn: TurnId) -> Result<Option<TurnStatus>, SessionError> {
        let Some(mut stored) = self.stored_turn(turn).await? else { return Ok(None) };
        if stored.end.is_none() {
            if let Some(running) = self.running_turn(turn).await? {
                return Ok(Some(TurnStatus::running(turn, stored.first, running)));
            }
            // It may have ended since.
            let Some(found) = self.stored_turn(turn).await? else { return Ok(None) };
            stored = found;
        }
        // Open without an actor that goes on with it, the turn is left to the next start.
        TurnStatus::ended(turn, stored).ok_or(SessionError::Closed).map(Some)
    }

    /// Dismisses this turn as [`dismiss`](Self::dismiss) does, or nothing: a dismissal that comes late never hits the
    /// next turn. `None` where the turn is over, or [`When::Waits`] asks for an open question and it has none. No bound
    /// refuses it.
    ///
    /// # Errors
    /// [`DismissError::Closed`] if the session cannot be reached.
    pub async fn dismiss_turn(
        &self,
        turn: TurnId,
        when: When,
    ) -> Result<Option<Dismissed>, DismissError> {
        match self.ask(|reply| SessionRequest::Dismiss { only: Some((turn, when)), reply }).await? {
            Ok(stored) => Ok(Some(Dismissed::new(stored))),
            Err(DismissError::NoTurn) => Ok(None),
            Err(error @ (DismissError::Closed | _)) => Err(error),
        }
    }

    async fn stored_turn(&self, turn: TurnId) -> Result<Option<StoredTurn>, SessionError> {
        let stored = self.store().turn(self.id(), turn).await;
        stored.map_err(|cause| self.failed(cause))
    }

    async fn running_turn(&self, turn: TurnId) -> Result<Option<RunningTurn>, SessionError> {
        self.ask(|reply| SessionRequest::Turn { turn, reply })
            .await?
            .map_err(SessionError::Overloaded)
    }
}

impl TurnStatus {
    fn running(turn: TurnId, first: u64, running: RunningTurn) -> Self {
        let RunningTurn { last, approval_request } = running;
        let phase = approval_request.map_or(TurnPhase::Running, |approval_request| {
            TurnPhase::Waiting { approval_request: Box::new(approval_request) }
        });
        let first = EventCursor::of_entry(first);
        // The user's message is stored, and may not be told yet.
        Self { turn, phase, first, last: last.max(first) }
    }

    fn ended(turn: TurnId, StoredTurn { first, end }: StoredTurn) -> Option<Self> {
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
    fn a_running_turn_goes_from_its_first_event_to_the_last_one_told_or_to_the_first_where_that_is_not_told()
     {
        for (told, last) in [("5.2", "6"), ("6", "6"), ("8", "8")] {
            let [told, last] = [told, last].map(|cursor| cursor.parse().unwrap());
            let running = RunningTurn { last: told, approval_request: None };
            let status = TurnStatus::running(TurnId::new(Uuid::nil()), 6, running);
            assert_eq!((status.first, status.last), (EventCursor::of_entry(6), last));
        }
    }
}
