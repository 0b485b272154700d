//! The ends of calls that no process continues. A call that never began is withdrawn, which is no
//! fault of its tool.

use std::sync::Arc;

use super::{
    CallContext,
    lost_end::{end_otherwise, gone, leaves_no_trace},
    msg::{CallEnd, DispatchRequest},
    record::Finished,
};
use crate::{
    ledger::{CallState, Ended},
    port::LedgerRow,
    protocol::{CallResult, CancelReason, EffectPolicy, Fault, Locale, ToolOutcome},
};

/// Makes the ends of calls of one session that no pipeline will end, in their order. They are to be
/// written as they are. If the store did not take the end of a handler, that is the end of its
/// call.
#[must_use]
pub fn ends_of_lost(context: &CallContext, rows: &[&LedgerRow], locale: Locale) -> Vec<Ended> {
    let mut all_read = true;
    let end = |(index, row): (usize, &&LedgerRow)| {
        all_read &= reads(context, &row.name);
        if row.state == CallState::Running
            && let Some(kept) = context.kept_ends.get(row.call)
        {
            return kept;
        }
        // A call that writes runs after all before it, and before all after it.
        let may_have_begun = index == 0 || all_read;
        let finished = if may_have_begun || row.state == CallState::Running {
            finished(context, &row.name, row.state, locale)
        } else {
            withdrawn()
        };
        let Finished { outcome, effect, decided_by } = finished;
        Ended { arguments: None, outcome, effect, result: CallResult::Shown, decided_by }
    };
    rows.iter().enumerate().map(end).collect()
}

/// Ends a call whose process ended: with the end that the ledger has, or with one that follows from
/// its state there.
pub async fn end_cut_off(context: &Arc<CallContext>, request: Arc<DispatchRequest>) -> CallEnd {
    let tool = request.call.name.clone();
    let locale = request.locale;
    end_otherwise(context, request, |state| finished(context, &tool, state, locale)).await
}

fn finished(context: &CallContext, tool: &str, state: CallState, locale: Locale) -> Finished {
    if never_began(context, tool, state) {
        withdrawn()
    } else {
        gone(context, tool, state, &Fault::REPLY_LOST, locale)
    }
}

/// Returns whether the handler of a call in this state cannot have begun. The beginning of one that
/// reads, or that writes in the transaction, is recorded only together with its end.
fn never_began(context: &CallContext, tool: &str, state: CallState) -> bool {
    match state {
        CallState::Awaiting => true,
        CallState::Proposed | CallState::Approved => !leaves_no_trace(context, tool),
        CallState::Running | CallState::Ended => false,
    }
}

fn withdrawn() -> Finished {
    Finished::unrun(ToolOutcome::cancelled(CancelReason::Withdrawn))
}

fn reads(context: &CallContext, tool: &str) -> bool {
    context.registry.get(tool).is_ok_and(|tool| tool.spec().effect == EffectPolicy::Read)
}
