//! Tells which limit was reached, whose, and when to try again.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::Limits;

/// What is counted before it is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Bound {
    /// Sessions that are awake.
    AwakeSessions,
    /// Turns that run, those included that wait for a model or a person.
    RunningTurns,
    /// Questions that wait for a person.
    OpenQuestions,
    /// Calls that run, those included that wait for a person.
    RunningCalls,
    /// Bytes that came in and are not stored yet: texts of users, arguments of calls without a model.
    QueuedBytes,
    /// Messages that one session has not come to.
    WaitingMessages,
    /// Bytes that are stored of a user.
    StoredBytes,
}

/// Whose bound it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scope {
    /// The one session's.
    Session,
    /// The user's: others are let in.
    User,
    /// The runtime's.
    All,
}

/// Tells that a limit was reached. Nothing of what was asked has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many {bound} {scope}: {max} are allowed")]
pub struct LimitExceeded {
    /// What there is too much of.
    pub bound: Bound,
    /// Whose bound was reached.
    pub scope: Scope,
    /// The bound, from [`Limits`](super::Limits).
    pub max: usize,
    /// When a permit comes free for the caller, estimated from how long permits were held lately and from how many callers
    /// were refused before. `None` before any was given back.
    pub retry_after: Option<Duration>,
}

impl LimitExceeded {
    /// What a user is told of whom as much is stored as is allowed. No time makes room.
    #[must_use]
    pub const fn of_stored_bytes(limits: &Limits) -> Self {
        let max = limits.max_stored_bytes_per_user;
        Self { bound: Bound::StoredBytes, scope: Scope::User, max, retry_after: None }
    }
}

impl Bound {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::AwakeSessions,
        Self::RunningTurns,
        Self::OpenQuestions,
        Self::RunningCalls,
        Self::QueuedBytes,
        Self::WaitingMessages,
        Self::StoredBytes,
    ];
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AwakeSessions => "sessions awake at once",
            Self::RunningTurns => "turns at once",
            Self::OpenQuestions => "open questions at once",
            Self::RunningCalls => "calls at once",
            Self::QueuedBytes => "bytes on their way to the store",
            Self::WaitingMessages => "waiting messages",
            Self::StoredBytes => "stored bytes",
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "for this session",
            Self::User => "for this user",
            Self::All => "in all",
        })
    }
}
