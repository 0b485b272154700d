//! The items of an inbox, as plain data.

use std::sync::Arc;

use crate::protocol::{ApprovalEnd, ApprovalRequest, CallId, SessionId};

/// An item of an inbox.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InboxItem {
    /// All open requests of the user, the earliest to expire first. It replaces everything before
    /// it. It is the first item, and is sent again if the reader fell behind.
    Snapshot {
        /// The open requests.
        requests: Vec<Arc<ApprovalRequest>>,
    },
    /// A person is asked.
    ApprovalRequested {
        /// The request as it is shown.
        request: Arc<ApprovalRequest>,
    },
    /// A request is closed.
    ApprovalEnded {
        /// The call of the request.
        call: CallId,
        /// The session of the call.
        session: SessionId,
        /// How the request ended.
        end: Arc<ApprovalEnd>,
    },
}
