//! Opening a session: its handle, for its user alone.

use madang_actors::{
    protocol::{SessionId, UserId},
    session,
};

use crate::{Runtime, Session, error::SessionError};

impl Runtime {
    /// Opens a user's session, or creates it. The session is asleep until it is used; but where its process ended in
    /// mid-turn it wakes now, and the turn goes on.
    ///
    /// # Errors
    /// [`SessionError::Foreign`] if it is another user's.
    pub async fn session(&self, user: &str, session: &str) -> Result<Session, SessionError> {
        let (user, session) = (UserId::new(user)?, SessionId::new(session)?);
        if self.shared().is_closed() {
            return Err(SessionError::Closed);
        }
        session::create(&session, &user, &self.shared().context).await?;
        self.opened(&user, &session).ok_or(SessionError::Foreign(session))
    }

    /// Finds a user's session, as [`session`](Self::session) opens it, and makes none. `None` where it was never opened
    /// and where it is another user's: the caller cannot tell the two apart.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store cannot be read, [`SessionError::Closed`] after the runtime has shut down.
    pub async fn find_session(
        &self,
        user: &UserId,
        session: &SessionId,
    ) -> Result<Option<Session>, SessionError> {
        if self.shared().is_closed() {
            return Err(SessionError::Closed);
        }
        let owner = self.shared().store().owner(session).await;
        let owner =
            owner.map_err(|cause| SessionError::Store { session: session.clone(), cause })?;
        Ok(if owner.as_ref() == Some(user) { self.opened(user, session) } else { None })
    }

    /// Gives the handle of a session that the store has as this user's. `None` where its slot is another user's.
    fn opened(&self, user: &UserId, session: &SessionId) -> Option<Session> {
        let slot = self.shared().sessions.slot(session, user, self.shared().limits())?;
        if self.shared().interrupted.take(session) {
            self.shared().wake(&slot);
        }
        Some(Session::new(slot, self.shared().clone()))
    }
}
