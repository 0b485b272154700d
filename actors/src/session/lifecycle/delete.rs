//! Deleting a session. It falls asleep first, so that nothing of it runs or is on its way to the
//! store. While its rows are erased it does not wake, and afterwards it never does.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout_at},
};

use crate::port::{LedgerFilter, StoreError, Write};
use crate::session::{
    Begun, Error, RuntimeContext, SessionRequest, SessionSlot, ViewPage, lifecycle::wake::send,
};

/// How long to wait before looking again whether a session can sleep. It is about to.
const PAUSE: Duration = Duration::from_millis(2);

/// How long to wait for a call without a model that is about to end. It may also wait for a person.
const CALL_PATIENCE: Duration = Duration::from_millis(100);

/// Deletes the session of a slot for its user. Requests that wait for the session then receive
/// [`Error::Deleted`], and so does a second deletion.
///
/// # Errors
/// [`Error::Busy`] if a turn or a call of the session has not ended, [`Error::Store`] if the store
/// cannot be read or written, and [`Error::Closed`] if the runtime shuts down.
pub async fn delete(slot: &Arc<SessionSlot>, context: &Arc<RuntimeContext>) -> Result<(), Error> {
    let held = asleep(slot, context).await?;
    let store = context.store.store();
    let unresolved = LedgerFilter::unresolved().in_session(slot.session());
    // A handler may outlive its call, and is to report its effect.
    if store.calls(&unresolved).await?.iter().any(|row| context.calls.is_running(row.call)) {
        return Err(Error::Busy);
    }
    let deleted = Write::Deleted {
        session: slot.session().clone(),
        user: slot.user().clone(),
        at: context.calls.clock.now(),
    };
    if let Err(cause) = context.store.write(vec![deleted]).await {
        let is_there = store.owner(slot.session()).await?.as_ref() == Some(slot.user());
        match cause {
            StoreError::Refused { .. } if is_there => return Err(Error::Busy),
            StoreError::Refused { .. } => return Err(Error::Deleted),
            // Only the answer was lost.
            cause if cause.may_have_happened() && !is_there => {}
            cause => return Err(Error::Store(cause)),
        }
    }
    // Before the session can wake: it would find that there is none, or another user's.
    slot.mark_deleted();
    drop(held);
    Ok(())
}

/// Holds the session asleep until the result is dropped.
async fn asleep(slot: &Arc<SessionSlot>, context: &Arc<RuntimeContext>) -> Result<Begun, Error> {
    let begun = Instant::now();
    let until = begun + context.calls.limits.ask_timeout;
    loop {
        if context.closing.is_cancelled() {
            return Err(Error::Closed);
        }
        if let Some(held) = slot.begins_asleep() {
            return Ok(held);
        }
        if slot.has_call_beside() && begun.elapsed() < CALL_PATIENCE {
            sleep(PAUSE).await;
            continue;
        }
        if slot.has_call_beside() || Instant::now() >= until {
            return Err(Error::Busy);
        }
        // The session answers once it is awake. A deleted one does not wake, and says so.
        let (reply, view) = oneshot::channel();
        send(slot, context, SessionRequest::State { page: ViewPage::NONE, reply })?;
        let Ok(view) = timeout_at(until, view).await else { return Err(Error::Busy) };
        if view.unwrap_or(Err(Error::Closed))?.turn.is_some() {
            return Err(Error::Busy);
        }
        slot.put_to_sleep(until).await;
        if slot.awake().is_some() {
            sleep(PAUSE).await;
        }
    }
}
