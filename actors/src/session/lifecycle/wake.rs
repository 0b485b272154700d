//! Waking a session: load its chat, recover the turn that was left open, start its actor.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use ractor::{Actor, ActorRef};
use tokio::{runtime::Handle, time::timeout};
use tracing::{debug, error};

use crate::session::{
    RuntimeContext, Sent, SessionActor, SessionMsg, SessionSlot,
    lifecycle::beside,
    lifecycle::place::{WakePolicy, admit},
    lifecycle::refusal::{WakeError, refuse},
    lifecycle::state_cell::StateCell,
    lifecycle::waiting::is_dismissal,
    state::{SessionState, WakeSnapshot},
    transcript::Chat,
    turn::left_open::see_to,
};
use crate::{
    admission::Permit,
    failpoint::{Failed, failpoint},
    port::{LedgerFilter, StoreError, StoredSession},
    protocol::{EventCursor, EventKind, SessionEvent, SessionId, TurnId},
    telemetry::refused,
};

/// Wakes the session behind a slot. Waiting messages are delivered, or their senders are told why not.
pub async fn open(slot: Arc<SessionSlot>, context: Arc<RuntimeContext>, policy: WakePolicy) {
    let cause = Some(WakeError::Store(StoreError::Silent));
    let mut asleep = Asleep { slot, context, cause };
    let session = asleep.slot.session();
    match start(&asleep.slot, &asleep.context, policy).await {
        Ok(()) => asleep.cause = None,
        Err(error) => {
            match &error {
                WakeError::Overloaded(refusal) => {
                    refused(refusal);
                    debug!(%session, %refusal, "a session sleeps on");
                }
                WakeError::Store(_) | WakeError::Unknown | WakeError::Closed => {
                    error!(%session, %error, "failed to wake a session");
                }
            }
            asleep.cause = Some(error);
        }
    }
}

/// Tries again later where the store cannot be read or written now, until that succeeds or the runtime shuts down, with
/// growing pauses. Subscribers wait for a turn that must go on, or whose recovery has begun.
fn try_later(slot: Arc<SessionSlot>, context: Arc<RuntimeContext>) {
    let is_closing = context.closing.is_cancelled();
    if is_closing || slot.is_retrying.swap(true, Relaxed) {
        return;
    }
    let failures = slot.failures.fetch_add(1, Relaxed);
    let (closing, pause) = (context.closing.clone(), context.calls.limits.retry_pause(failures));
    context.tasks.clone().spawn(async move {
        drop(timeout(pause, closing.cancelled()).await);
        slot.is_retrying.store(false, Relaxed);
        wake_again(&slot, &context);
    });
}

/// A session that does not wake, unless its cause is taken away. Senders of waiting messages are told, even where a
/// panic of the store ends the attempt. A turn that must go on is tried again.
struct Asleep {
    slot: Arc<SessionSlot>,
    context: Arc<RuntimeContext>,
    cause: Option<WakeError>,
}

impl Asleep {
    fn send_again(&self, msg: SessionMsg) {
        let (slot, context) = (&self.slot, &self.context);
        if matches!(slot.send(msg), Sent::WakeIt) && Handle::try_current().is_ok() {
            let opens = open(slot.clone(), context.clone(), WakePolicy::RefuseIfFull);
            context.tasks.spawn(opens);
        }
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        let Some(cause) = self.cause.take() else { return };
        // The end may come late, or only with the next start: callers do not wait for it.
        if let Some(abandoned) = self.slot.handover().turn {
            abandoned.waiting.complete(None);
        }
        let is_full = matches!(cause, WakeError::Overloaded(_));
        for msg in self.slot.did_not_wake() {
            // It came behind the look for one, and no bound refuses it.
            if is_full && is_dismissal(&msg) {
                self.send_again(msg);
            } else {
                refuse(msg, &cause);
            }
        }
        let is_worth_it = matches!(cause, WakeError::Store(_) | WakeError::Overloaded(_));
        // Not where the threads themselves end.
        if is_worth_it && self.slot.must_go_on() && Handle::try_current().is_ok() {
            try_later(self.slot.clone(), self.context.clone());
        }
    }
}

async fn start(
    slot: &Arc<SessionSlot>,
    context: &Arc<RuntimeContext>,
    policy: WakePolicy,
) -> Result<(), WakeError> {
    let session = slot.session();
    let awake = admit(slot, context, policy).await?;
    // Work of an earlier actor is still on its way to the store, with numbers of its own.
    beside::writes_ended(slot, context).await;
    failpoint("wake.loads").await.map_err(unreadable)?;
    let mut stored = load(session, context).await?;
    let mut resumption = None;
    // A runtime that shuts down leaves an open turn to the next.
    if let Some(open) = stored.open_turn.take_if(|_| !context.closing.is_cancelled()) {
        let seen = see_to(open, &stored, slot.handover(), slot, context).await;
        resumption = seen.map_err(WakeError::Store)?;
        failpoint("wake.seen_to").await.map_err(unreadable)?;
        stored = load(session, context).await?;
    }
    // The calls of a turn that goes on, now or after the next start.
    let awaited = match &stored.open_turn {
        Some(open) => open_calls(session, open.turn, context).await?,
        None => BTreeSet::new(),
    };
    let last_seq = stored.row.last_seq;
    // Entries behind a call that goes on are told after it.
    let shown = awaited.first().map_or(last_seq, |first| first - 1);
    let to = match stored.open_turn {
        Some(_) => EventCursor::of_entry(shown),
        None => EventCursor::of_entry(shown).end(),
    };
    // A constant subscriber is told what is stored behind the last event published, whichever actor wrote it.
    let after = slot.feed().begins_at(to);
    let unpublished = slot.unpublished((after, to), &context.calls).await;
    let mut unpublished = unpublished.map_err(WakeError::Store)?;
    let handover = slot.handover();
    let abandoned = handover.turn.as_ref();
    let has_ended = stored.open_turn.is_none();
    let end = abandoned.and_then(|abandoned| abandoned.sent_end.as_ref().filter(|_| has_ended));
    let error = last_error(&unpublished).or(handover.error);
    if let Some(resumption) = &mut resumption {
        resumption.news = std::mem::take(&mut unpublished);
    }
    let chat = Chat::load(stored.messages, last_seq, awaited);
    let state = StateCell::default();
    let snapshot = WakeSnapshot {
        state: state.clone(),
        wakes: wake_again,
        slot: slot.clone(),
        context: context.clone(),
        chat,
        error,
        unpublished,
        leaves_turn: stored.open_turn.is_some(),
    };
    let (actor, _) =
        SessionActor::spawn_linked(None, SessionActor, snapshot, context.supervisor.clone())
            .await
            .map_err(|cause| {
                debug!(%session, %cause, "failed to start a session's actor");
                WakeError::Closed
            })?;
    // Behind the subscribers, which the actor told as it started.
    if let Some(abandoned) = abandoned {
        abandoned.waiting.complete(end.map(|(end, _)| end));
    }
    stands(slot, context, actor, state, (awake, resumption.map(SessionMsg::Resume)));
    Ok(())
}

/// Wakes a session whose turn was abandoned or goes on, without waiting for the next caller.
fn wake_again(slot: &Arc<SessionSlot>, context: &Arc<RuntimeContext>) {
    if slot.wake() {
        context.tasks.spawn(open(slot.clone(), context.clone(), WakePolicy::WaitForRoom));
    }
}

/// Puts an actor behind the slot. Where it is dead already another is started, for no other task goes on with its work.
pub(in crate::session) fn stands(
    slot: &Arc<SessionSlot>,
    context: &Arc<RuntimeContext>,
    actor: ActorRef<SessionMsg>,
    state: StateCell<SessionState>,
    (awake, first): (Option<Permit>, Option<SessionMsg>),
) {
    if !slot.woke(actor, state.of_slot(), awake, first) {
        wake_again(slot, context);
    }
}

/// Gives the error with which the last turn of these events ended.
fn last_error(events: &[SessionEvent]) -> Option<String> {
    events.iter().rev().find_map(|event| {
        let EventKind::Error { text, .. } = &event.kind else { return None };
        Some(text.clone())
    })
}

async fn load(session: &SessionId, context: &RuntimeContext) -> Result<StoredSession, WakeError> {
    let stored = context.store.store().session(session).await;
    stored.map_err(WakeError::Store)?.ok_or(WakeError::Unknown)
}

/// Gives the numbers of the calls of this turn that have not ended.
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
