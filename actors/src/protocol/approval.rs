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
    /// The same, and said that the tool needs no question for a while in this session: from here on it is a [`Grant`].
    Always {
        /// The hash of the tool's name and schema: with others the tool is asked about again.
        schema: Digest,
        /// Until when.
        until: Timestamp,
        /// How many calls it covers.
        uses: u32,
        /// The hash of the resource that it is bound to, where the tool named one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<Digest>,
    },
    /// Nobody was asked: the user had said so in this session.
    Granted {
        /// The call about which the user said it.
        by_call: CallId,
        /// The hash of the tool's name and schema, then and now.
        schema: Digest,
        /// The hash of what the call works on, where the tool named something.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<Digest>,
        /// Which of the uses it is, counted from 1.
        number: u32,
    },
    /// The user typed other arguments than those that were shown: these were run.
    Edited,
}

/// A standing approval: in this session, this tool runs for this user without a question. It ends by itself after a while
/// and after so many calls, and when it is revoked or the session is cleared. It covers neither a tool whose schema has
/// changed nor, where it was given about a resource, a call on another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The session, and no other.
    pub session: SessionId,
    /// The tool's name.
    pub tool: Arc<str>,
    /// The hash of its name and schema.
    pub schema: Digest,
    /// The hash of the resource that it is bound to, where the tool named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Digest>,
    /// Who gave it.
    pub user: UserId,
    /// The call about which it was given.
    pub call: CallId,
    /// When.
    pub at: Timestamp,
    /// Until when it covers anything.
    pub until: Timestamp,
    /// How many calls it covers.
    pub uses: u32,
}
