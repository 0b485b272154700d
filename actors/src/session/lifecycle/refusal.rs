//! The reasons why a session did not wake, and what callers that wait for it receive.

use crate::{
    port::StoreError,
    protocol::LimitExceeded,
    session::{Error, SessionRequest},
};

/// A reason why a session did not wake.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WakeError {
    /// The store could not be read.
    #[error("failed to load the session")]
    Store(#[source] StoreError),
    /// The session was deleted, or never opened by this user.
    #[error("the session does not exist")]
    Unknown,
    /// Its actor could not be started: the runtime has shut down.
    #[error("the session could not be started")]
    Closed,
    /// Too many sessions are awake, and none of them can be put to sleep.
    #[error("too many sessions are awake")]
    Overloaded(#[source] LimitExceeded),
}

/// Answers a request with the reason why its session did not wake.
pub(super) fn refuse(request: SessionRequest, cause: &WakeError) {
    request.refuse(match cause {
        WakeError::Store(cause) => Error::Store(cause.clone()),
        WakeError::Unknown => Error::Deleted,
        WakeError::Closed => Error::Closed,
        WakeError::Overloaded(refusal) => Error::Overloaded(*refusal),
    });
}
