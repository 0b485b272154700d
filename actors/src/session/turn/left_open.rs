//! Recovering the turn that was left open: carries out the plan for it, in one job of the store.

use std::sync::Arc;

use tracing::info;

use crate::session::{
    RuntimeContext, SessionSlot,
    lifecycle::handover::Handover,
    msg::{Resumption, TurnEnd},
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

/// Carries out the plan, in one job of the store. A resumption is counted before it begins, and once: the handover says
/// that an earlier attempt to wake has counted it. A user that must be told of an unknown effect is told wherever the
/// process ends. Gives the resumption of a turn that goes on.
pub(in crate::session) async fn see_to(
    mut open: OpenTurn,
    stored: &StoredSession,
    mut handover: Handover,
    slot: &Arc<SessionSlot>,
    context: &RuntimeContext,
) -> Result<Option<Box<Resumption>>, StoreError> {
    let session = slot.session();
    let filter = LedgerFilter::open_calls().in_session(session);
    failpoint("wake.sees_to").await?;
    let calls = context.store.store().calls(&filter).await?;
    let is_counted = handover.counted == Some((open.turn, open.resumes));
    open.resumes -= u32::from(is_counted);
    failpoint("wake.plans").await?;
    let plan = plan(&Left {
        open: &open,
        messages: &stored.messages,
        calls: &calls,
        abandoned: handover.turn.as_ref().map(|abandoned| abandoned.end.0.turn),
        max_resumes: context.calls.limits.max_resumes,
    })?;
    // Without room the turn waits for it awake, and is counted when it has it.
    let permit = match plan.turn {
        Fate::Ends { .. } => None,
        Fate::GoesOn { .. } => {
            context.calls.admission.try_admit(Bound::RunningTurns, slot.user(), 1).ok()
        }
    };
    // Before the first write: readers are told what it adds, also where the store's reply is lost.
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
    let mut writes = Vec::new();
    let counts = permit.is_some() && matches!(plan.turn, Fate::GoesOn { waits: false, .. });
    if counts && !is_counted {
        let (session, turn, step) = (session.clone(), open.turn, TurnStep::Resumed);
        writes.push(Write::Turn { session, turn, at, step });
    }
    writes.extend(lost.into_iter().zip(ends).map(|(row, end)| end_write(row, at, end)));
    // A text over which a model took its process with it again and again would do so in every turn that reads it.
    let killer = Fate::Ends { reason: Reason::TooOften, was_completing: true };
    let is_left_out = plan.turn == killer;
    let notices = [(is_unknown, Notice::EffectUnknown), (is_left_out, Notice::TurnLeftOut)];
    for (_, notice) in notices.into_iter().filter(|(is_due, _)| *is_due) {
        last += 1;
        let content = Content::Notice { notice };
        let message = ChatMessage { seq: last, turn: open.turn, at, content };
        writes.push(Write::Message { session: session.clone(), message });
    }
    match plan.turn {
        Fate::Ends { reason, was_completing: _ } => {
            let (end, at) = match (reason, &handover.turn) {
                (Reason::ActorLost, Some(abandoned)) => abandoned.end.clone(),
                (Reason::ActorLost | Reason::TooOften | Reason::NoChat, _) => {
                    let (turn, ending, usage) = (open.turn, TurnEnding::Failed, open.usage);
                    let error = Some(TurnError::CutOff);
                    (TurnEnd { turn, ending, error, usage }, at)
                }
            };
            writes.push(end.write(session, at, last));
            if let Some(abandoned) = &mut handover.turn {
                abandoned.sent_end = Some((end, at));
            }
            slot.hand_over(handover);
            context.store.write(writes).await?;
            info!(%session, turn = %open.turn, ?reason, "ended a turn that was left open");
            Ok(None)
        }
        Fate::GoesOn { again, stops_loop, waits } => {
            let is_counted = is_counted || counts;
            if is_counted {
                handover.counted = Some((open.turn, open.resumes + 1));
            }
            slot.hand_over(handover);
            if !writes.is_empty() {
                context.store.write(writes).await?;
            }
            info!(%session, turn = %open.turn, calls = again.len(), "a turn that was left open goes on");
            let of = |call| rest.iter().find(|row| row.call == call).cloned();
            let calls: Vec<LedgerRow> = again.into_iter().filter_map(of).collect();
            let resumption =
                Resumption { open, calls, stops_loop, waits, permit, is_counted, news: Vec::new() };
            Ok(Some(Box::new(resumption)))
        }
    }
}

/// Makes the end of a call that no pipeline brings to its end any more.
fn end_write(row: &LedgerRow, at: Timestamp, end: Ended) -> Write {
    let (session, call) = (row.session.clone(), row.call);
    Write::Call { session, call, at, transition: Transition::Ended(end) }
}
