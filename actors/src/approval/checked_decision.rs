//! A person's decision, checked before it competes. Only this file makes a [`CheckedDecision`].

use std::sync::Arc;

use tokio::sync::oneshot::{self, Receiver, Sender};

use crate::{
    mailbox,
    protocol::{Decision, DecisionError, Limits},
    registry::RegisteredTool,
};

/// A decision whose parts fit: its message is short enough, and its arguments fit the tool. It
/// holds the reply to its person.
#[derive(Debug)]
pub struct CheckedDecision {
    decision: Decision,
    counts: Sender<Result<(), DecisionError>>,
}

impl CheckedDecision {
    /// Checks a decision, and returns it with the receiver of its reply. The tool is asked for only
    /// if the person edited the arguments.
    ///
    /// # Errors
    /// [`DecisionError`] says what does not fit, or why the tool is not known.
    pub(super) async fn check(
        decision: Decision,
        tool: impl Future<Output = Result<Arc<RegisteredTool>, DecisionError>>,
        limits: &Limits,
    ) -> Result<(Self, Receiver<Result<(), DecisionError>>), DecisionError> {
        let decision = match decision {
            Decision::Approve | Decision::ApproveAlways | Decision::Deny => decision,
            Decision::DenyWith { message } => denial(message, limits)?,
            Decision::Edit { arguments } => {
                let typed = tool.await?.check_typed(arguments, limits);
                let typed = typed.map_err(|problems| DecisionError::DoesNotFit {
                    problems: problems.as_slice().to_vec(),
                })?;
                Decision::Edit { arguments: typed.arguments }
            }
        };
        let (counts, reply) = oneshot::channel();
        Ok((Self { decision, counts }, reply))
    }

    /// Returns what the person decided.
    #[must_use]
    pub const fn get(&self) -> &Decision {
        &self.decision
    }

    /// Turns an edit that changes nothing into a plain approval.
    #[must_use]
    pub fn unedited(self) -> Self {
        Self { decision: Decision::Approve, ..self }
    }

    /// Answers the person whether the decision is valid, which it is after it is recorded.
    pub fn tell(self, counts: Result<(), DecisionError>) {
        mailbox::answer(self.counts, counts);
    }
}

/// Makes a denial with this message. A blank message is ignored. The length is measured as the
/// model reads it.
fn denial(message: Arc<str>, limits: &Limits) -> Result<Decision, DecisionError> {
    if message.trim().is_empty() {
        return Ok(Decision::Deny);
    }
    let max_bytes = limits.max_denial_bytes;
    let bytes = serde_json::Value::from(&*message).to_string().len();
    if bytes > max_bytes {
        return Err(DecisionError::MessageTooLong { bytes, max_bytes });
    }
    Ok(Decision::DenyWith { message })
}
