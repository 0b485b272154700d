//! Approval requests: the question to a person, the decision, and the end.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallId, CancelReason, Digest, Problem, SessionId, Timestamp, UserId};

/// A request for an approval: the question to a person before a destructive call runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalRequest {
    /// The call that waits for the decision.
    pub call: CallId,
    /// The session of the call.
    pub session: SessionId,
    /// The user that may decide.
    pub user: UserId,
    /// The tool's name.
    pub tool: Arc<str>,
    /// The validated arguments: exactly what will run.
    pub arguments: Arc<Value>,
    /// What will happen, in the session's language. It comes from the tool, never from the model.
    pub consequence: Arc<str>,
    /// The question in full. Show this: exactly these bytes are stored, and the digest covers them.
    pub text: Arc<str>,
    /// The digest that binds the decision to all of the fields above.
    pub digest: Digest,
    /// The time at which the call is cancelled as expired.
    pub expires_at: Timestamp,
}

/// A person's decision about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Runs the call, once, with exactly these arguments.
    Approve,
    /// Runs the call, and from now on lets this tool run without a question in this session: a
    /// [`StandingApproval`](super::StandingApproval).
    ApproveAlways,
    /// Ends the call without running it.
    Deny,
    /// Ends the call without running it, with this message to the model.
    DenyWith {
        /// The person's own message; a blank one is a plain denial.
        message: Arc<str>,
    },
    /// Runs the call, once, with these arguments instead of those that were shown. They are
    /// validated like a model's, but keys that the schema does not know are refused. The person is
    /// not asked again, because the person has seen what they typed.
    Edit {
        /// The arguments, as an object.
        arguments: Value,
    },
}

/// The end of an approval request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalEnd {
    /// A person decided.
    Decided {
        /// The person's decision.
        #[serde(flatten)]
        decision: Decision,
    },
    /// The request ended without a decision.
    Cancelled {
        /// The reason for which it ended.
        reason: CancelReason,
    },
}

/// A reason why a decision was not accepted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// No such request is open: it was decided, expired, dismissed, or never made.
    #[error("no such request is open")]
    NotOpen,
    /// The decision is about other arguments than those that were shown. The request stays open.
    #[error("the decision is about another request than the one that is open")]
    WrongDigest,
    /// The request is for another user. It stays open.
    #[error("the request is for another user")]
    NotYours,
    /// The edited arguments do not fit the tool. The request stays open.
    #[error("the edited arguments do not fit the tool")]
    DoesNotFit {
        /// The problems, each with its pointer.
        problems: Vec<Problem>,
    },
    /// The message with a denial is too long. The request stays open.
    #[error("the message has {bytes} bytes as JSON, {max_bytes} are allowed")]
    MessageTooLong {
        /// The length of the message as JSON.
        bytes: usize,
        /// The most bytes that a message may have.
        max_bytes: usize,
    },
    /// The decision could not be recorded. The call does not run.
    #[error("the decision could not be recorded")]
    NotRecorded,
    /// The store did not answer in time, so it is not known whether the decision was recorded. The
    /// ledger shows it.
    #[error("it is not known whether the decision was recorded")]
    NotKnown,
}

/// The bytes that a person sees before deciding. The ledger keeps them, and the decision is bound
/// to them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shown {
    /// The question in full, in the language of its turn.
    pub text: Arc<str>,
    /// The part of the question that describes what will happen.
    pub consequence: Arc<str>,
}
