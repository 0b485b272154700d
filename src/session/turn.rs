//! The status and the dismissal of a turn, by its id.

use madang_actors::{
    port::StoredTurn,
    protocol::TurnId,
    session::{RunningTurn, SessionRequest, When},
};

use crate::{
    Session,
    error::Error,
    turn::{handle::Dismissed, status::TurnStatus},
};

impl Session {
    /// Returns the status of a turn of this session, however long ago it ended. Returns `None` if
    /// no such turn has begun. An ended turn is read from the store, which does not wake the
    /// session.
    ///
    /// # Errors
    /// [`Error::Store`] if the store cannot be read. [`Error::Overloaded`] or [`Error::Closed`] if
    /// the turn is open and the session cannot be reached.
    pub async fn turn_status(&self, turn: TurnId) -> Result<Option<TurnStatus>, Error> {
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
        TurnStatus::of_ended(turn, stored).ok_or(Error::Closed).map(Some)
    }

    /// Dismisses this turn as [`dismiss`](Self::dismiss) does, and no other: a dismissal that comes
    /// late never affects the next turn. Returns `None` if the turn does not run, or if
    /// [`When::Waits`] asks for an open question and there is none. No bound refuses a dismissal.
    ///
    /// # Errors
    /// [`Error::Closed`] if the session cannot be reached.
    pub async fn dismiss_turn(&self, turn: TurnId, when: When) -> Result<Option<Dismissed>, Error> {
        match self
            .request(|reply| SessionRequest::Dismiss { only: Some((turn, when)), reply })
            .await
        {
            Ok(stored) => Ok(Some(Dismissed::new(stored))),
            Err(Error::NoTurn) => Ok(None),
            Err(error @ (Error::Closed | _)) => Err(error),
        }
    }

    async fn stored_turn(&self, turn: TurnId) -> Result<Option<StoredTurn>, Error> {
        let stored = self.store().turn(self.id(), turn).await?;
        self.must_exist()?;
        Ok(stored)
    }

    async fn running_turn(&self, turn: TurnId) -> Result<Option<RunningTurn>, Error> {
        self.request(|reply| SessionRequest::Turn { turn, reply }).await
    }
}
