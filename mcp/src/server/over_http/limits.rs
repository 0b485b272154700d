//! The bounds of an endpoint, and the requests that it refuses.

use std::time::Duration;

/// The bounds of an endpoint.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EndpointLimits {
    /// The most sessions at once.
    pub max_sessions: usize,
    /// The most sessions of one user at once.
    pub max_sessions_per_user: usize,
    /// How long a session without a request or stream is kept.
    pub session_idle: Duration,
    /// The most bytes of a body.
    pub max_body_bytes: usize,
    /// How long a stream is silent before it sends a comment.
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

/// The reason why a request was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointRefusal {
    /// The user has the most sessions that a user may have.
    #[error("this user has {max} sessions, and more are not allowed")]
    TooManyOfUser {
        /// The most sessions of one user.
        max: usize,
    },
    /// There are as many sessions as the endpoint may have.
    #[error("{max} sessions are open, and more are not allowed")]
    TooMany {
        /// The most sessions of the endpoint.
        max: usize,
    },
    /// The request for a session is longer than is allowed. A session keeps what it says.
    #[error("a handshake may have {max} bytes")]
    LongHandshake {
        /// The most bytes of a handshake.
        max: usize,
    },
    /// The message has more values than are allowed.
    #[error("a message may have {max} values")]
    ManyValues {
        /// The most values of a message.
        max: usize,
    },
    /// There is no such session, or it is another user's.
    #[error("there is no such session, or it is not this user's")]
    NoSession,
}
