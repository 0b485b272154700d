//! Makes a decision from the yes or no, and the words, of a client's form.

use madang::approval::Decision;
use serde_json::Value;

/// What a client's form says about an approval request.
#[derive(Debug, Default)]
pub(crate) struct DecisionForm {
    /// Whether the person said yes.
    pub(crate) is_approved: bool,
    /// The person's words.
    pub(crate) message: Option<String>,
    /// The arguments that the person typed in place of those that were shown.
    pub(crate) edited: Option<Value>,
    /// Whether the yes should count for later calls of the tool.
    pub(crate) is_always: bool,
}

impl DecisionForm {
    /// Returns the decision. Words with a yes change nothing. A yes to other arguments counts for
    /// one call, whatever else the form says, because a standing approval is about what was shown.
    pub(crate) fn decision(self) -> Decision {
        match (self.is_approved, self.edited, self.message) {
            (true, Some(arguments), _) => Decision::Edit { arguments },
            (true, None, _) if self.is_always => Decision::ApproveAlways,
            (true, None, _) => Decision::Approve,
            (false, _, Some(message)) if !message.trim().is_empty() => {
                Decision::DenyWith { message: message.into() }
            }
            (false, _, _) => Decision::Deny,
        }
    }
}
