//! The end of a call without a model.

use crate::protocol::{CallRecord, SessionId, ToolOutcome};

/// The end of a call without a model, as its caller receives it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallReport {
    /// The session under which the ledger has it.
    pub session: SessionId,
    /// The ledger's record of the call.
    pub record: CallRecord,
    /// The outcome as a model would read it.
    pub envelope: String,
    /// Whether the ledger has this end. It is false if the store could not be written, or takes no
    /// more of the user. The record is then what this runtime knows.
    ///
    /// If the call is still open in the ledger, the runtime ends it there as soon as the store can
    /// be written again, or else the next start does. It then has the handler's own end if this
    /// process still knows it, and otherwise `handler_error` with the effect that the ledger shows.
    pub is_recorded: bool,
}

impl CallReport {
    /// Returns the outcome. It is `None` only if the call was dismissed, or the runtime was shut
    /// down, while the handler ran.
    #[must_use]
    pub fn outcome(&self) -> Option<&ToolOutcome> {
        self.record.outcome.as_ref()
    }
}
