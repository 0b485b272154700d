//! Checks a person's answer before it competes. Only this file makes a [`CheckedAnswer`].

use std::sync::Arc;

use crate::{
    protocol::{Answer, CallId, Decision, DecisionError, Digest, Limits, UserId},
    registry::{CheckedArguments, RegisteredTool},
};

/// An answer whose parts fit: its message is short enough, its arguments fit the tool.
#[derive(Debug)]
pub struct CheckedAnswer {
    call: CallId,
    digest: Digest,
    user: UserId,
    decision: CheckedDecision,
}

/// What a person decided, checked.
#[derive(Debug)]
pub enum CheckedDecision {
    /// Runs the call, once.
    Approve,
    /// Runs the call, and asks no more about this tool in this session.
    ApproveAlways,
    /// Ends the call without running it.
    Deny {
        /// The text that the model is told; never blank.
        message: Option<Arc<str>>,
    },
    /// Runs the call with these arguments instead.
    Edit(CheckedArguments),
}

impl CheckedAnswer {
    /// Checks an answer. The tool is asked for only where the person edited the arguments.
    ///
    /// # Errors
    /// [`DecisionError`] says what does not fit, or why the tool is not known.
    pub(super) async fn check(
        answer: Answer,
        tool: impl Future<Output = Result<Arc<RegisteredTool>, DecisionError>>,
        limits: &Limits,
    ) -> Result<Self, DecisionError> {
        let Answer { call, digest, decision, user } = answer;
        let decision = match decision {
            Decision::Approve => CheckedDecision::Approve,
            Decision::ApproveAlways => CheckedDecision::ApproveAlways,
            Decision::Deny => CheckedDecision::Deny { message: None },
            Decision::DenyWith { message } => {
                CheckedDecision::Deny { message: heard(message, limits)? }
            }
            Decision::Edit { arguments } => {
                let typed = tool.await?.check_typed(arguments, limits);
                let typed = typed.map_err(|problems| DecisionError::DoesNotFit {
                    problems: problems.as_slice().to_vec(),
                })?;
                CheckedDecision::Edit(typed)
            }
        };
        Ok(Self { call, digest, user, decision })
    }

    pub(super) const fn call(&self) -> CallId {
        self.call
    }

    pub(super) const fn digest(&self) -> Digest {
        self.digest
    }

    pub(super) const fn user(&self) -> &UserId {
        &self.user
    }

    pub(super) fn into_decision(self) -> (CheckedDecision, UserId) {
        (self.decision, self.user)
    }

    #[cfg(test)]
    pub(super) const fn approval(call: CallId, digest: Digest, user: UserId) -> Self {
        Self { call, digest, user, decision: CheckedDecision::Approve }
    }
}

impl CheckedDecision {
    /// Gives the decision as events and the ledger tell it.
    #[must_use]
    pub fn told(&self) -> Decision {
        match self {
            Self::Approve => Decision::Approve,
            Self::ApproveAlways => Decision::ApproveAlways,
            Self::Deny { message: None } => Decision::Deny,
            Self::Deny { message: Some(message) } => {
                Decision::DenyWith { message: message.clone() }
            }
            Self::Edit(typed) => Decision::Edit { arguments: typed.arguments.clone() },
        }
    }
}

/// Gives the message beside a no, unless it is blank. Its length is measured as the model reads it.
fn heard(message: Arc<str>, limits: &Limits) -> Result<Option<Arc<str>>, DecisionError> {
    if message.trim().is_empty() {
        return Ok(None);
    }
    let max_bytes = limits.max_denial_bytes;
    let bytes = serde_json::Value::from(&*message).to_string().len();
    if bytes > max_bytes {
        return Err(DecisionError::MessageTooLong { bytes, max_bytes });
    }
    Ok(Some(message))
}
