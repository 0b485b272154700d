//! Recovering the turn that was left open: carries out the plan for it, in one job of the store.

use std::sync::Arc;

use tracing::info;

use crate::session::{
    RuntimeContext, SessionSlot,
    msg::Resumption,
    request::TurnEnd,
    turn::recovery::{Fate, Left, Reason, plan},
};
use crate::{
    dispatcher::ends_of_lost,
    failpoint::failpoint,
    ledger::{Ended, Transition},
    port::{LedgerFilter, LedgerRow, OpenTurn, StoreError, StoredSession, TurnStep, Write},
    protocol::{
        Bound, ChatMessage, Content, Effect, EventCursor, Notice, Timestamp, TurnEnding, TurnError,
    },
};

/// Carries out the plan, in one job of the store: lost calls end, and the turn ends with them or
/// goes on. The notice of an unknown effect is in the same job, so the user receives it wherever
/// the process ends. Returns the resumption of a turn that goes on, which is not [counted](count)
/// yet. `None` if the turn ends, or stays open because there is no model.
pub(in crate::session) async fn recover(
    mut open: OpenTurn,
    stored: &StoredSession,
    slot: &Arc<SessionSlot>,
    context: &RuntimeContext,
) -> Result<Option<Box<Resumption>>, StoreError> {
    let session = slot.session();
    let filter = LedgerFilter::open_calls().in_session(session);
    failpoint("wake.sees_to").await?;
    let calls = context.store.store().calls(&filter).await?;
    failpoint("wake.plans").await?;
    let plan = plan(&Left {
        open: &open,
        messages: &stored.messages,
        calls: &calls,
        max_resumes: context.calls.limits.max_resumes,
        has_model: !context.models.is_empty(),
    })?;
    // Before the first write: readers receive what it adds, even if the store's reply is lost.
    let known = calls.iter().map(|row| row.seq - 1).min().unwrap_or(stored.row.last_seq);
    slot.feed().begins_at(EventCursor::of_entry(known));
    let (at, locale) =
        (context.calls.clock.now(), context.calls.languages.locale(open.options.language));
    let (lost, rest): (Vec<_>, Vec<_>) =
        calls.into_iter().partition(|row| plan.lost.contains(&row.call));
    let mut lost: Vec<_> = lost.iter().collect();
    lost.sort_by_key(|row| row.seq);
    let ends = ends_of_lost(&context.calls, &lost, locale);
    let is_unknown = ends.iter().any(|end| end.effect == Effect::Unknown);
    let mut last = stored.row.last_seq;
    let mut writes: Vec<_> =
        lost.into_iter().zip(ends).map(|(row, end)| end_write(row, at, end)).collect();
    // A dismissal whose write failed is in effect all the same, and the store takes it before
    // anything goes on.
    if slot.turn().is_dismissed(open.turn) && !std::mem::replace(&mut open.is_dismissed, true) {
        let session = session.clone();
        let turn = open.turn;
        let step = TurnStep::Dismissed;
        writes.push(Write::Turn { session, turn, at, step });
    }
    // A text over which a model took its process with it again and again would do so in every turn
    // that reads it.
    let killer = Fate::Ends { reason: Reason::TooOften, was_completing: true };
    let is_left_out = plan.turn == killer;
    let notices = [(is_unknown, Notice::EffectUnknown), (is_left_out, Notice::TurnLeftOut)];
    for (_, notice) in notices.into_iter().filter(|(is_due, _)| *is_due) {
        last += 1;
        let content = Content::Notice { notice };
        let message = ChatMessage { seq: last, turn: open.turn, at, content };
        writes.push(Write::Message { session: session.clone(), message });
    }
    let resumption = match plan.turn {
        Fate::Ends { reason, was_completing: _ } => {
            let turn = open.turn;
            let ending = TurnEnding::Failed;
            let usage = open.usage;
            let end = TurnEnd { turn, ending, error: Some(TurnError::CutOff), usage };
            writes.push(end.write(session, at, last));
            info!(%session, %turn, ?reason, "ends a turn that was left open");
            None
        }
        Fate::Stays => {
            info!(%session, turn = %open.turn, "a turn that was left open waits for a start with a model");
            None
        }
        Fate::GoesOn { again, stops_loop, waits } => {
            info!(%session, turn = %open.turn, calls = again.len(), "a turn that was left open goes on");
            let of = |call| rest.iter().find(|row| row.call == call).cloned();
            let calls: Vec<LedgerRow> = again.into_iter().filter_map(of).collect();
            // Without room the turn waits for it awake, and is counted when it has it.
            let admission = &context.calls.admission;
            let permit = admission.try_admit(Bound::RunningTurns, slot.user(), 1).ok();
            Some(Box::new(Resumption { open, calls, stops_loop, waits, permit }))
        }
    };
    if !writes.is_empty() {
        context.store.write(writes).await?;
    }
    Ok(resumption)
}

/// Counts a resumption that runs from now on. One that waits for a person, or for room, does not
/// count: it can take no process with it.
pub(in crate::session) async fn count(
    resumption: &Resumption,
    slot: &SessionSlot,
    context: &RuntimeContext,
) -> Result<(), StoreError> {
    if resumption.waits || resumption.permit.is_none() {
        return Ok(());
    }
    let session = slot.session().clone();
    let turn = resumption.open.turn;
    let at = context.calls.clock.now();
    let step = TurnStep::Resumed;
    match context.store.write(vec![Write::Turn { session, turn, at, step }]).await {
        Err(cause) if !cause.may_have_happened() => Err(cause),
        // It need not be exact.
        Ok(()) | Err(_) => {
            slot.turn().is_stored();
            Ok(())
        }
    }
}

/// Makes the end of a call that no pipeline will end.
fn end_write(row: &LedgerRow, at: Timestamp, end: Ended) -> Write {
    let session = row.session.clone();
    let call = row.call;
    Write::Call { session, call, at, transition: Transition::Ended(end) }
}
