//! The end of a call whose pipeline is gone: what the ledger has, what its handler left, or a fault.

use std::sync::Arc;

use serde_json::Value;
use tracing::error;

use super::{
    CallContext,
    msg::{CallEnd, DispatchRequest},
    record::{Finished, Record, end_of, row},
};
use crate::{
    ledger::{CallState, Ended},
    port::LedgerRow,
    protocol::{CallResult, Effect, EffectPolicy, Fault, Locale, Text, ToolOutcome},
};

/// Brings a call whose pipeline is gone to its end. That is the end that the ledger has, else the one of its handler that
/// the store did not take, else `handler_error` with this fault.
///
/// With that fault its effect is `none` where the ledger says that the handler had not begun. It is `none` too where the handler only
/// reads, or wrote in a transaction that was undone with it. Otherwise it is unknown.
pub async fn end_lost(
    context: &Arc<CallContext>,
    request: Arc<DispatchRequest>,
    fault: &Fault,
) -> CallEnd {
    let (row, state) = match row(context, &request).await {
        Ok(row) => {
            let state = row.as_ref().map_or(CallState::Proposed, |row| row.state);
            (row, state)
        }
        Err(cause) => {
            error!(call = %request.call.id, %cause, "failed to read the ledger");
            (None, CallState::Running)
        }
    };
    if let Some(end) = row.as_ref().and_then(end_of) {
        return end;
    }
    let begun = row.as_ref().filter(|row| row.state == CallState::Running);
    let kept = begun.and_then(|row| context.kept_ends.of(row.call));
    let finished = gone(context, &request.call.name, state, fault, request.locale);
    let arguments = row
        .as_ref()
        .map_or_else(|| Value::from(&*request.call.arguments), |row| row.arguments.clone());
    let ledger_row = row.map(Box::new);
    let request = DispatchRequest { ledger_row, ..Arc::unwrap_or_clone(request) };
    let mut record = Record::new(context.clone(), Arc::new(request));
    let ended = kept.unwrap_or_else(|| record.ended(finished));
    record.end_as(arguments, Vec::new(), ended).await
}

/// Makes the end of a call that no pipeline will bring to its end any more. An end of its handler that the store did not
/// take is that end. It is to be written as it is.
#[must_use]
pub fn end_of_lost(context: &CallContext, row: &LedgerRow, locale: Locale) -> Ended {
    if row.state == CallState::Running
        && let Some(kept) = context.kept_ends.of(row.call)
    {
        return kept;
    }
    let Finished { outcome, effect, decided_by } =
        gone(context, &row.name, row.state, &Fault::REPLY_LOST, locale);
    Ended { arguments: None, outcome, effect, result: CallResult::Shown, decided_by }
}

/// Makes the end of a call in this state whose pipeline is gone.
fn gone(
    context: &CallContext,
    tool: &str,
    state: CallState,
    fault: &Fault,
    locale: Locale,
) -> Finished {
    let is_unknown = state == CallState::Running && !leaves_no_trace(context, tool);
    let effect = if is_unknown { Effect::Unknown } else { Effect::None };
    let mut reason = Text::HandlerFailed(fault).in_locale(locale);
    if effect == Effect::Unknown {
        // The model reads only the reason.
        reason = format!("{reason}. {}", Text::EndUnknown.in_locale(locale));
    }
    Finished { outcome: ToolOutcome::error("handler_error", reason), effect, decided_by: None }
}

fn leaves_no_trace(context: &CallContext, tool: &str) -> bool {
    context
        .registry
        .get(tool)
        .is_ok_and(|tool| tool.spec().effect == EffectPolicy::Read || tool.tool().needs().is_some())
}
