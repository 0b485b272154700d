//! How a call was approved, and the standing approvals of a session.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CallId, Digest, SessionId, Timestamp, UserId};

/// How a call was approved. Each call has an approval of its own, whatever it is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Approval {
    /// The user saw these arguments and approved this one call.
    Once,
    /// The user approved this call, and for a while the tool asks no more in this session: a
    /// standing approval.
    Always {
        /// The hash of the tool's name and schema: with others the tool needs a question again.
        schema: Digest,
        /// The moment at which it ends.
        until: Timestamp,
        /// The number of calls that it covers.
        uses: u32,
        /// The hash of the resource to which it is bound, if the tool named one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<Digest>,
    },
    /// No question was asked, because a standing approval of this session covers the call.
    Standing {
        /// The call with which the standing approval began.
        by_call: CallId,
        /// The hash of the tool's name and schema, the same then and now.
        schema: Digest,
        /// The hash of the resource that the call works on, if the tool named one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<Digest>,
        /// The number of this use, counted from 1.
        number: u32,
    },
    /// The user typed other arguments than those that were shown, and these ran.
    Edited,
}

/// A standing approval: in this session, this tool runs for this user without a question. It ends
/// after some time, after some number of calls, when it is revoked, and when the session is
/// cleared. It does not cover a tool whose schema has changed. If it is bound to a resource, it
/// does not cover a call on another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StandingApproval {
    /// The only session that it covers.
    pub session: SessionId,
    /// The name of the tool that it covers.
    pub tool: Arc<str>,
    /// The hash of the tool's name and schema.
    pub schema: Digest,
    /// The hash of the resource to which it is bound, if the tool named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Digest>,
    /// The user that approved.
    pub user: UserId,
    /// The call about which the user was asked.
    pub call: CallId,
    /// The time of the approval.
    pub at: Timestamp,
    /// The time at which it ends.
    pub until: Timestamp,
    /// The number of calls that it covers.
    pub uses: u32,
}
