//! The place of a session among those that are awake: a free one, one that another session leaves,
//! or one that is waited for.

use std::pin::pin;

use tokio::time::{Instant, sleep};

use crate::session::{
    RuntimeContext, SessionSlot,
    lifecycle::refusal::{WakeError, refuse},
    lifecycle::waiting::may_be_refused,
};
use crate::{
    admission::Permit,
    protocol::{Bound, LimitExceeded},
};

/// What a session that wakes does if no other can be put to sleep for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakePolicy {
    /// Stays asleep, and its callers are refused.
    RefuseIfFull,
    /// Waits, because a turn or call of it must go on.
    Wait,
}

/// Takes a permit for an awake session. If none is free, the session that has been idle longest
/// makes room. Returns `None` if the runtime shuts down before and no session needs a permit any
/// more. Also returns `None` if a dismissal waits: no bound refuses that, and the session falls
/// asleep again after it.
pub(super) async fn awake_permit(
    slot: &SessionSlot,
    context: &RuntimeContext,
    policy: WakePolicy,
) -> Result<Option<Permit>, WakeError> {
    let admission = &context.calls.admission;
    let user = slot.user();
    let until = Instant::now() + context.calls.limits.ask_timeout;
    let refusal = loop {
        let refusal = match admission.try_admit(Bound::AwakeSessions, user, 1) {
            Ok(permit) => return Ok(Some(permit)),
            Err(refusal) => refusal,
        };
        if policy == WakePolicy::RefuseIfFull && Instant::now() >= until {
            break refusal;
        }
        let Some(idle) = slot.longest_idle(refusal.scope) else { break refusal };
        idle.put_to_sleep(until).await;
    };
    match policy {
        _ if slot.is_dismissed() => Ok(None),
        WakePolicy::RefuseIfFull => Err(WakeError::Overloaded(refusal)),
        WakePolicy::Wait => Ok(wait_for_permit(slot, context, refusal).await),
    }
}

/// Waits in line for a permit. Other callers are refused by the bound, as they are while the
/// session sleeps.
async fn wait_for_permit(
    slot: &SessionSlot,
    context: &RuntimeContext,
    refusal: LimitExceeded,
) -> Option<Permit> {
    let patience = context.calls.limits.ask_timeout;
    let mut permit = pin!(context.calls.admission.wait(Bound::AwakeSessions, slot.user()));
    loop {
        for msg in slot.take_waiting(may_be_refused) {
            refuse(msg, &WakeError::Overloaded(refusal));
        }
        if slot.is_dismissed() {
            return None;
        }
        tokio::select! {
            biased;
            permit = &mut permit => return Some(permit),
            () = context.closing.cancelled() => return None,
            () = slot.request_arrives() => {}
            // A session may have become idle just before this one began to wait.
            () = sleep(patience) => {
                if let Some(idle) = slot.longest_idle(refusal.scope) {
                    idle.put_to_sleep(Instant::now() + patience).await;
                }
            }
        }
    }
}
