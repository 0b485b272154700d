//! Creating a session: it belongs to the user who opened it first.

use crate::session::{RuntimeContext, error::Error};
use crate::{
    port::{StoreError, Write},
    protocol::{SessionId, UserId},
};

/// Ensures that the session exists and belongs to this user. A runtime that shuts down creates
/// none.
///
/// # Errors
/// [`Error::Foreign`] if it is another user's, [`Error::Store`] if the store cannot be read or
/// written, and [`Error::Closed`] if the runtime shuts down.
pub async fn create(
    session: &SessionId,
    user: &UserId,
    context: &RuntimeContext,
) -> Result<(), Error> {
    let foreign = || Error::Foreign(session.clone());
    let owner = || context.store.store().owner(session);
    if let Some(owner) = owner().await? {
        return if owner == *user { Ok(()) } else { Err(foreign()) };
    }
    if context.closing.is_cancelled() {
        return Err(Error::Closed);
    }
    let at = context.calls.clock.now();
    let mut writes = vec![Write::Session { session: session.clone(), user: user.clone(), at }];
    if context.has_temporary_chats {
        writes.push(Write::Temporary { session: session.clone() });
    }
    match context.store.write(writes).await {
        Ok(()) => Ok(()),
        Err(StoreError::Refused { .. }) => Err(foreign()),
        // If only the reply was lost, the session exists.
        Err(cause) if cause.may_have_happened() => match owner().await? {
            Some(owner) if owner == *user => Ok(()),
            Some(_) => Err(foreign()),
            None => Err(cause.into()),
        },
        Err(cause) => Err(cause.into()),
    }
}
