//! Takes a person's answer to the ConfirmActor, and waits until it counts.

use std::sync::Arc;

use tokio::{sync::oneshot, time::timeout};

use super::{CheckedAnswer, ConfirmMsg};
use crate::{
    mailbox::{Address, AskError},
    protocol::{Answer, CallId, DecisionError, Digest, Limits, UserId},
    registry::RegisteredTool,
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
    let asked = tool(confirm, (answer.call, answer.digest, answer.user.clone()), limits);
    let answer = CheckedAnswer::check(answer, asked, limits).await?;
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

/// Asks which tool an open question of this user is about.
async fn tool(
    confirm: &Address<ConfirmMsg>,
    (call, digest, user): (CallId, Digest, UserId),
    limits: &Limits,
) -> Result<Arc<RegisteredTool>, DecisionError> {
    let ask = |reply| ConfirmMsg::Tool { call, digest, user, reply };
    match confirm.ask(ask, limits.ask_timeout).await {
        Ok(tool) => tool,
        Err(AskError::Closed | AskError::Timeout) => Err(DecisionError::NotRecorded),
    }
}
