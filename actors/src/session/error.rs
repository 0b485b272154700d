//! Why a session could not be opened or reached.

use std::sync::Arc;

use crate::{
    port::StoreError,
    protocol::{CallId, InvalidId, LimitExceeded, SessionId},
};

/// A reason why a session could not be opened or reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The id of the session or user cannot be used.
    #[error(transparent)]
    Id(#[from] InvalidId),
    /// The session belongs to another user.
    #[error("session {0} belongs to another user")]
    Foreign(SessionId),
    /// A turn of the session, or another call without a model, has not ended.
    #[error("session {0} is busy")]
    Busy(SessionId),
    /// The idempotency key of the call is that of another: of another tool, of other arguments, or in another session.
    #[error("the key belongs to another call: {0}")]
    OtherCall(CallId),
    /// The time zone of the call or its user is unknown.
    #[error(transparent)]
    TimeZone(#[from] UnknownTimeZone),
    /// The store could not be written or read.
    #[error("failed to reach the store of session {session}")]
    Store {
        /// The session of the request.
        session: SessionId,
        /// The error of the store.
        #[source]
        cause: StoreError,
    },
    /// A bound was reached.
    #[error("a bound was reached")]
    Overloaded(#[source] LimitExceeded),
    /// The session's actor died, or the runtime has shut down.
    #[error("the session is closed")]
    Closed,
}

/// No time zone has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no time zone is named {name:?}: give an IANA name, such as Asia/Seoul")]
pub struct UnknownTimeZone {
    /// The name that was asked for.
    pub name: Arc<str>,
}
