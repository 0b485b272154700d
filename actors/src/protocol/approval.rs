//! How a call was approved, and the standing approvals that a session has.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CallId, Digest, SessionId, Timestamp, UserId};

/// How a call was approved. Each call has an approval of its own, whatever it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Approval {
    /// The user was shown these arguments and said yes to this one call.
    Once,
    /// The same, and for a while the tool needs no question in this session: from here on it is a [`StandingApproval`].
    Always {
        /// The hash of the tool's name and schema: with others the tool needs a question again.
        schema: Digest,
        /// The moment at which it ends.
        until: Timestamp,
        /// The number of calls that it covers.
        uses: u32,
        /// The hash of the resource that it is bound to, where the tool named one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<Digest>,
    },
    /// No question was asked: a standing approval of this session covers the call.
    Standing {
        /// The call about which the standing approval was given.
        by_call: CallId,
        /// The hash of the tool's name and schema, the same then and now.
        schema: Digest,
        /// The hash of the resource that the call works on, where the tool named one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<Digest>,
        /// The number of this use, counted from 1.
        number: u32,
    },
    /// The user typed other arguments than those that were shown, and these were run.
    Edited,
}

/// A standing approval: in this session, this tool runs for this user without a question. It ends after a while, after
/// so many calls, when it is revoked, and when the session is cleared. It covers neither a tool whose schema has
/// changed nor, where it was given about a resource, a call on another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StandingApproval {
    /// The only session that it covers.
    pub session: SessionId,
    /// The name of the tool that it covers.
    pub tool: Arc<str>,
    /// The hash of the tool's name and schema.
    pub schema: Digest,
    /// The hash of the resource that it is bound to, where the tool named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Digest>,
    /// The user that gave it.
    pub user: UserId,
    /// The call about which it was given.
    pub call: CallId,
    /// The moment at which it was given.
    pub at: Timestamp,
    /// The moment at which it ends.
    pub until: Timestamp,
    /// The number of calls that it covers.
    pub uses: u32,
}
