//! Waking a session: loads its chat, recovers the turn that was left open, starts its actor.

use std::{collections::BTreeSet, sync::Arc};

use ractor::Actor;
use tokio::runtime::Handle;
use tracing::{debug, error};

use crate::session::{
    Error, RuntimeContext, Sent, SessionActor, SessionRequest, SessionSlot,
    lifecycle::beside,
    lifecycle::place::{WakePolicy, awake_permit},
    lifecycle::refusal::{WakeError, refuse},
    lifecycle::waiting::is_dismissal,
    state::WakeSnapshot,
    transcript::Chat,
    turn::left_open::{count, recover},
};
use crate::{
    failpoint::{Failed, failpoint},
    port::{LedgerFilter, StoreError, StoredSession},
    protocol::{EventCursor, SessionId, TurnId},
    telemetry::refused,
};

/// Sends a request through a session's slot, and wakes the session if it sleeps. On `Ok` the session
/// has the request, or receives it when it wakes.
///
/// # Errors
/// [`Error::Closed`] after the runtime has shut down, and [`Error::Overloaded`] if too many requests
/// wait for the session.
pub fn send(
    slot: &Arc<SessionSlot>,
    context: &Arc<RuntimeContext>,
    request: SessionRequest,
) -> Result<(), Error> {
    if context.is_closed() {
        return Err(Error::Closed);
    }
    match slot.send(request) {
        Sent::Delivered => Ok(()),
        Sent::WakeIt => {
            // In a task: the caller may leave, and others may be waiting at the slot.
            let opens = open(slot.clone(), context.clone(), WakePolicy::RefuseIfFull);
            context.tasks.spawn(opens);
            Ok(())
        }
        Sent::Full(_, refusal) => Err(Error::Overloaded(refusal)),
    }
}

/// Wakes the session of a slot. Waiting requests are delivered, or refused with the reason. Returns
/// whether the session is awake.
pub async fn open(
    slot: Arc<SessionSlot>,
    context: Arc<RuntimeContext>,
    policy: WakePolicy,
) -> bool {
    let cause = Some(WakeError::Store(StoreError::Silent));
    let mut asleep = Asleep { slot, context, cause };
    let session = asleep.slot.session();
    match start(&asleep.slot, &asleep.context, policy).await {
        Ok(()) => {
            asleep.cause = None;
            true
        }
        Err(error) => {
            match &error {
                WakeError::Overloaded(refusal) => {
                    refused(refusal);
                    debug!(%session, %refusal, "a session sleeps on");
                }
                WakeError::Unknown => {
                    debug!(%session, "the user has no such session, or it was deleted")
                }
                WakeError::Store(_) | WakeError::Closed => {
                    error!(%session, %error, "failed to wake a session");
                }
            }
            asleep.cause = Some(error);
            false
        }
    }
}

/// A session that does not wake, unless its cause is taken away. Dropping it refuses the waiting
/// requests, even if a panic of the store ends the attempt.
struct Asleep {
    slot: Arc<SessionSlot>,
    context: Arc<RuntimeContext>,
    cause: Option<WakeError>,
}

impl Drop for Asleep {
    fn drop(&mut self) {
        let Some(cause) = self.cause.take() else { return };
        let is_full = matches!(cause, WakeError::Overloaded(_));
        for request in self.slot.did_not_wake() {
            // It came after the last look for a dismissal, and no bound refuses one.
            let may_wake = !self.context.is_closed() && Handle::try_current().is_ok();
            if is_full && is_dismissal(&request) && may_wake {
                // Only a shutdown in this moment refuses it, and drops it with its reply.
                drop(send(&self.slot, &self.context, request));
            } else {
                refuse(request, &cause);
            }
        }
    }
}

async fn start(
    slot: &Arc<SessionSlot>,
    context: &Arc<RuntimeContext>,
    policy: WakePolicy,
) -> Result<(), WakeError> {
    let session = slot.session();
    let awake = awake_permit(slot, context, policy).await?;
    // Work of an earlier actor is still on its way to the store, with numbers of its own.
    beside::writes_ended(slot, context).await;
    failpoint("wake.loads").await.map_err(unreadable)?;
    let mut stored = load(slot, context).await?;
    let mut resumption = None;
    // A runtime that shuts down leaves an open turn to the next.
    if let Some(open) = stored.open_turn.take_if(|_| !context.closing.is_cancelled()) {
        resumption = recover(open, &stored, slot, context).await.map_err(WakeError::Store)?;
        failpoint("wake.seen_to").await.map_err(unreadable)?;
        stored = load(slot, context).await?;
    }
    let open_turn = stored.open_turn;
    // The calls of a turn that goes on, now or after a later start.
    let awaited = match &open_turn {
        Some(open) => open_calls(session, open.turn, context).await?,
        None => BTreeSet::new(),
    };
    let last_seq = stored.row.last_seq;
    // Entries after a call that goes on are published after it.
    let shown = awaited.first().map_or(last_seq, |first| first - 1);
    let to = match &open_turn {
        Some(_) => EventCursor::of_entry(shown),
        None => EventCursor::of_entry(shown).end(),
    };
    // A constant subscriber receives what is stored after the last event published, whichever actor
    // wrote it.
    let after = slot.feed().begins_at(to);
    let unpublished = slot.unpublished((after, to), &context.calls).await;
    let unpublished = unpublished.map_err(WakeError::Store)?;
    let chat = Chat::load(stored.messages, last_seq, awaited);
    // Last of all that can fail: only what runs counts.
    if let Some(resumption) = &resumption {
        count(resumption, slot, context).await.map_err(WakeError::Store)?;
    }
    let resumes =
        resumption.as_ref().map(|resumption| SessionRequest::Resume { waits: resumption.waits });
    let slot = slot.clone();
    let context = context.clone();
    let supervisor = context.supervisor.clone();
    let of_actor = slot.clone();
    let snapshot =
        WakeSnapshot { slot: of_actor, context, chat, unpublished, open_turn, resumption };
    let (actor, _) = SessionActor::spawn_linked(None, SessionActor, snapshot, supervisor)
        .await
        .map_err(|cause| {
            debug!(session = %slot.session(), %cause, "failed to start a session's actor");
            WakeError::Closed
        })?;
    slot.woke(actor, awake, resumes);
    Ok(())
}

/// Loads a chat for the user of the slot. Nobody can wake another user's, nor, by an old handle, a
/// later chat with the id of a deleted one.
async fn load(slot: &SessionSlot, context: &RuntimeContext) -> Result<StoredSession, WakeError> {
    if slot.is_deleted() {
        return Err(WakeError::Unknown);
    }
    let stored = context.store.store().session(slot.session()).await;
    let stored = stored.map_err(WakeError::Store)?;
    stored.filter(|stored| stored.row.user == *slot.user()).ok_or(WakeError::Unknown)
}

/// Returns the numbers of the calls of this turn that have not ended.
async fn open_calls(
    session: &SessionId,
    turn: TurnId,
    context: &RuntimeContext,
) -> Result<BTreeSet<u64>, WakeError> {
    let open = LedgerFilter::open_calls().in_session(session);
    let open = context.store.store().calls(&open).await.map_err(WakeError::Store)?;
    Ok(open.iter().filter(|row| row.turn == turn).map(|row| row.seq).collect())
}

fn unreadable(failed: Failed) -> WakeError {
    WakeError::Store(failed.into())
}
