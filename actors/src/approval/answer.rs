//! Checks a person's answer before it competes. Only this file makes a [`CheckedAnswer`].

use std::sync::Arc;

use tokio::{sync::oneshot, time::timeout};

use super::ConfirmMsg;
use crate::{
    mailbox::{Address, AskError},
    protocol::{Answer, CallId, Decision, DecisionError, Digest, Limits, UserId},
    registry::CheckedArguments,
};

/// Answers a question. Exactly one answer wins, and it counts once it is recorded. Edited arguments are validated
/// before the answer competes; arguments that do not fit leave the question open.
///
/// Dropping the future withdraws nothing that was sent.
///
/// # Errors
/// [`DecisionError`] says why the answer does not count.
pub async fn answer(
    confirm: &Address<ConfirmMsg>,
    answer: Answer,
    limits: &Limits,
) -> Result<(), DecisionError> {
    let answer = check(confirm, answer, limits).await?;
    let (reply, counts) = oneshot::channel();
    let sent = confirm.send(ConfirmMsg::Answer { answer, reply });
    sent.map_err(|_| DecisionError::NotRecorded)?;
    // The answer counts once it is recorded. So this waits as long as the store may take, and longer than the call that
    // records it.
    match timeout(limits.store_timeout + limits.ask_timeout, counts).await {
        Ok(Ok(counts)) => counts,
        Ok(Err(_)) | Err(_) => Err(DecisionError::NotKnown),
    }
}

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

async fn check(
    confirm: &Address<ConfirmMsg>,
    answer: Answer,
    limits: &Limits,
) -> Result<CheckedAnswer, DecisionError> {
    let Answer { call, digest, decision, user } = answer;
    let decision = match decision {
        Decision::Approve => CheckedDecision::Approve,
        Decision::ApproveAlways => CheckedDecision::ApproveAlways,
        Decision::Deny => CheckedDecision::Deny { message: None },
        Decision::DenyWith { message } => {
            CheckedDecision::Deny { message: heard(message, limits)? }
        }
        Decision::Edit { arguments } => {
            let asker = user.clone();
            let ask = |reply| ConfirmMsg::Tool { call, digest, user: asker, reply };
            let tool = match confirm.ask(ask, limits.ask_timeout).await {
                Ok(tool) => tool?,
                Err(AskError::Closed | AskError::Timeout) => {
                    return Err(DecisionError::NotRecorded);
                }
            };
            let typed = tool.check_typed(arguments, limits);
            let typed = typed.map_err(|problems| DecisionError::DoesNotFit {
                problems: problems.as_slice().to_vec(),
            })?;
            CheckedDecision::Edit(typed)
        }
    };
    Ok(CheckedAnswer { call, digest, user, decision })
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
