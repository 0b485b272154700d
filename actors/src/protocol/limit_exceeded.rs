//! The error of a limit that was reached: which one, whose it is, and when to try again.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::Limits;

/// A number that admission bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Bound {
    /// The sessions that are awake.
    AwakeSessions,
    /// The running turns, including those that wait for a model or a person.
    RunningTurns,
    /// The approval requests that wait for a person.
    ApprovalRequests,
    /// The inboxes that watch for approval requests.
    Inboxes,
    /// The running calls, including those that wait for a person.
    RunningCalls,
    /// The bytes that came in and are not stored yet: texts of users, arguments of calls without a
    /// model.
    QueuedBytes,
    /// The messages that one session has not yet handled.
    WaitingMessages,
    /// The bytes that are stored for a user.
    StoredBytes,
}

/// The scope of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Scope {
    /// The bound of one session.
    Session,
    /// The bound of one user: other users are admitted.
    User,
    /// The bound of the whole runtime.
    All,
}

/// Returned if a limit was reached. The request had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many {bound} {scope}: {max} are allowed")]
pub struct LimitExceeded {
    /// The bound that was reached.
    pub bound: Bound,
    /// The scope of the bound.
    pub scope: Scope,
    /// The limit itself, from [`Limits`](super::Limits).
    pub max: usize,
    /// The time after which a permit is likely to be free for the caller. It is estimated from how
    /// long permits were held lately, and from how many callers were refused before. `None` if no
    /// permit was freed yet.
    pub retry_after: Option<Duration>,
}

impl LimitExceeded {
    /// Makes the error for a user whose room in the store is used up. Waiting does not help.
    #[must_use]
    pub const fn of_stored_bytes(limits: &Limits) -> Self {
        let max = limits.max_stored_bytes_per_user;
        Self { bound: Bound::StoredBytes, scope: Scope::User, max, retry_after: None }
    }
}

impl Bound {
    /// All bounds.
    pub const ALL: [Self; 8] = [
        Self::AwakeSessions,
        Self::RunningTurns,
        Self::ApprovalRequests,
        Self::Inboxes,
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
            Self::ApprovalRequests => "open questions at once",
            Self::Inboxes => "inboxes at once",
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
