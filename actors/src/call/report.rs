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
    /// Whether the ledger has this end. False where the store could not be written, or takes no more of the user; the
    /// record is then what this runtime knows.
    ///
    /// Where the ledger has the call open then, the runtime ends it there once the store is back. That end is
    /// `handler_error`, with the effect that the ledger tells. After a shutdown the next start does so.
    pub is_recorded: bool,
}

impl CallReport {
    /// Gives the outcome; `None` only where the call was dismissed, or the runtime was shut down, while the handler ran.
    #[must_use]
    pub fn outcome(&self) -> Option<&ToolOutcome> {
        self.record.outcome.as_ref()
    }
}
