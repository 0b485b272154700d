//! The bounds of an endpoint, and what it refuses.

use std::time::Duration;

/// The bounds of an endpoint.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EndpointLimits {
    /// Sessions at once.
    pub max_sessions: usize,
    /// Sessions at once of one user.
    pub max_sessions_per_user: usize,
    /// The time after which a session without a request or stream ends.
    pub session_idle: Duration,
    /// Bytes of a body.
    pub max_body_bytes: usize,
    /// The time of silence after which a stream sends a comment.
    pub keep_alive: Duration,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        Self {
            max_sessions: 1_024,
            max_sessions_per_user: 64,
            session_idle: Duration::from_secs(5 * 60),
            max_body_bytes: 4 * 1024 * 1024,
            keep_alive: Duration::from_secs(15),
        }
    }
}

/// A reason why a request was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointRefusal {
    /// The user has as many sessions as one may have.
    #[error("this user has {max} sessions, and more are not allowed")]
    TooManyOfUser {
        /// The most sessions of one user.
        max: usize,
    },
    /// There are as many sessions as there may be.
    #[error("{max} sessions are open, and more are not allowed")]
    TooMany {
        /// The most sessions of the endpoint.
        max: usize,
    },
    /// The request for a session is longer than such a request may be: a session keeps what it says.
    #[error("a handshake may have {max} bytes")]
    LongHandshake {
        /// The most bytes of a handshake.
        max: usize,
    },
    /// The message has more values than a message may have.
    #[error("a message may have {max} values")]
    ManyValues {
        /// The most values of a message.
        max: usize,
    },
    /// There is no such session, or it is another user's.
    #[error("there is no such session, or it is not this user's")]
    NoSession,
}
