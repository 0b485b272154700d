//! Sends a person's decision to the ConfirmActor, and waits until it is recorded.

use tokio::time::timeout;

use super::{CheckedDecision, ConfirmMsg};
use crate::{
    mailbox::Address,
    protocol::{CallId, Decision, DecisionError, Digest, Limits, UserId},
};

/// Decides about the approval request of this call. Exactly one decision wins, and it is valid
/// after it is recorded. Edited arguments are validated before the decision competes. If they do
/// not fit, the request stays open.
///
/// Dropping the future withdraws nothing that was sent.
///
/// # Errors
/// [`DecisionError`] says why the decision was not accepted.
pub async fn decide(
    confirm: &Address<ConfirmMsg>,
    user: &UserId,
    call: CallId,
    digest: Digest,
    decision: Decision,
    limits: &Limits,
) -> Result<(), DecisionError> {
    let tool = async {
        let ask = |reply| ConfirmMsg::Tool { call, digest, user: user.clone(), reply };
        let tool = confirm.ask(ask, limits.ask_timeout).await;
        tool.map_err(|_| DecisionError::NotRecorded)?
    };
    let (decision, counts) = CheckedDecision::check(decision, tool, limits).await?;
    let decides = ConfirmMsg::Decide { call, digest, user: user.clone(), decision };
    confirm.send(decides).map_err(|_| DecisionError::NotRecorded)?;
    // The decision is valid after it is recorded, so this waits as long as the store may take, and
    // longer than the call that records it.
    match timeout(limits.store_timeout + limits.ask_timeout, counts).await {
        Ok(Ok(counts)) => counts,
        Ok(Err(_)) | Err(_) => Err(DecisionError::NotKnown),
    }
}
