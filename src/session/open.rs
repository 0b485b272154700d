//! Opening a session of a user, which is created if it does not exist.

use std::sync::Arc;

use madang_actors::{
    protocol::{SessionId, UserId},
    session::create,
};

use crate::{Session, error::Error, runtime::shared::SharedRuntime};

impl Session {
    /// Opens a session of this user, and creates it if it does not exist.
    pub(crate) async fn open(
        runtime: &Arc<SharedRuntime>,
        user: &UserId,
        name: &str,
    ) -> Result<Self, Error> {
        let session = SessionId::new(name)?;
        if runtime.is_closed() {
            return Err(Error::Closed);
        }
        create(&session, user, &runtime.context).await?;
        Self::opened(runtime, user, &session).ok_or(Error::Foreign(session))
    }

    /// Returns the handle of a session that the store has for this user. Returns `None` if its slot
    /// is another user's.
    pub(crate) fn opened(
        runtime: &Arc<SharedRuntime>,
        user: &UserId,
        session: &SessionId,
    ) -> Option<Self> {
        let slot = runtime.sessions.slot(session, user, runtime.limits())?;
        if runtime.interrupted.take(session) {
            runtime.wake(&slot);
        }
        Some(Self::new(slot, runtime.clone()))
    }
}
