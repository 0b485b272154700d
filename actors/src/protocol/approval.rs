//! How a call was approved, and the standing approvals that a session has.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CallId, Digest, SessionId, Timestamp, UserId};

/// How a call was approved. Each call has an approval of its own, whatever it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Approval {
    /// The user was shown these arguments and said yes to this one call.
    Once,
    /// The same, and said that the tool needs no question any more in this session: from here on it is a [`Grant`].
    Always {
        /// The hash of the tool's schema: with another one the tool is asked about again.
        schema: Digest,
    },
    /// Nobody was asked: the user had said so in this session.
    Granted {
        /// The call about which the user said it.
        by_call: CallId,
        /// The hash of the tool's schema, then and now.
        schema: Digest,
    },
    /// The user typed other arguments than those that were shown: these were run.
    Edited,
}

/// A standing approval: in this session, this tool runs for this user without a question. It ends when it is revoked
/// or the session is cleared, and does not cover a tool whose schema has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The session, and no other.
    pub session: SessionId,
    /// The tool's name.
    pub tool: Arc<str>,
    /// The hash of its schema.
    pub schema: Digest,
    /// Who gave it.
    pub user: UserId,
    /// The call about which it was given.
    pub call: CallId,
    /// When.
    pub at: Timestamp,
}
