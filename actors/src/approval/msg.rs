//! The messages of the ConfirmActor.

use std::sync::Arc;

use tokio::{sync::oneshot, time::Instant};

use super::CheckedDecision;
use crate::{
    protocol::{ApprovalRequest, CallId, DecisionError, Digest, UserId},
    registry::RegisteredTool,
};

/// A message for the [`ConfirmActor`](super::ConfirmActor).
#[derive(Debug)]
pub enum ConfirmMsg {
    /// Opens a request. Asking again about the same call replaces the request.
    Ask {
        /// The request as it is shown.
        request: Arc<ApprovalRequest>,
        /// The tool, against whose schema edited arguments are checked.
        tool: Arc<RegisteredTool>,
        /// The moment at which the request expires.
        due: Instant,
        /// Receives the decision that won, or `None` if the request expired without one.
        reply: oneshot::Sender<Option<CheckedDecision>>,
    },
    /// Decides about a request. Exactly one decision about a request wins.
    Decide {
        /// The call of the request.
        call: CallId,
        /// The digest of what was shown.
        digest: Digest,
        /// The user that decides.
        user: UserId,
        /// The checked decision.
        decision: CheckedDecision,
    },
    /// Asks which tool an open request is about. The request stays open.
    Tool {
        /// The call of the request.
        call: CallId,
        /// The digest of what was shown.
        digest: Digest,
        /// The user that wants to decide.
        user: UserId,
        /// Receives the tool, or why no decision would be accepted.
        reply: oneshot::Sender<Result<Arc<RegisteredTool>, DecisionError>>,
    },
    /// Closes a request because its call no longer waits for it.
    Withdraw {
        /// The call of the request.
        call: CallId,
    },
    /// Counts the open requests.
    OpenRequests {
        /// Receives the number.
        reply: oneshot::Sender<usize>,
    },
    /// The earliest deadline is due. The actor sends this to itself.
    Due,
}
