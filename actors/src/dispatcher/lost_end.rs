//! The end of a call whose pipeline is gone: what the ledger has, what its handler left, or a
//! fault.

use std::sync::Arc;

use serde_json::Value;
use tracing::error;

use super::{
    CallContext,
    msg::{CallEnd, DispatchRequest},
    record::{Finished, Record, end_of, row},
};
use crate::{
    ledger::CallState,
    protocol::{Effect, EffectPolicy, Fault, Locale, Text, ToolOutcome},
};

/// Ends a call whose pipeline is gone: with the end that the ledger has, or else with the end of
/// its handler that the store did not take, or else with `handler_error` and this fault.
///
/// With that fault, its effect is `none` if the ledger shows that the handler had not begun, or if
/// the handler only reads, or wrote in a transaction that was undone with it. Otherwise it is
/// unknown.
pub async fn end_lost(
    context: &Arc<CallContext>,
    request: Arc<DispatchRequest>,
    fault: &Fault,
) -> CallEnd {
    let tool = request.call.name.clone();
    let locale = request.locale;
    end_otherwise(context, request, |state| gone(context, &tool, state, fault, locale)).await
}

/// Brings a call whose pipeline is gone to its end, with the same order of ends. The last is made
/// of its state in the ledger.
pub(super) async fn end_otherwise(
    context: &Arc<CallContext>,
    request: Arc<DispatchRequest>,
    finished: impl FnOnce(CallState) -> Finished + Send,
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
    let kept = begun.and_then(|row| context.kept_ends.get(row.call));
    let finished = finished(state);
    let arguments = row.as_ref().map_or_else(
        || Arc::new(Value::from(&*request.call.arguments)),
        |row| row.arguments.clone(),
    );
    let ledger_row = row.map(Box::new);
    let request = DispatchRequest { ledger_row, ..Arc::unwrap_or_clone(request) };
    let mut record = Record::new(context.clone(), Arc::new(request));
    let ended = kept.unwrap_or_else(|| record.end_step(finished));
    record.end_as(arguments, Vec::new(), ended).await
}

/// Makes the end of a call in this state whose pipeline is gone.
pub(super) fn gone(
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

/// Returns whether a handler of this tool that is cut off has had no effect.
pub(super) fn leaves_no_trace(context: &CallContext, tool: &str) -> bool {
    context
        .registry
        .get(tool)
        .is_ok_and(|tool| tool.spec().effect == EffectPolicy::Read || tool.tool().needs().is_some())
}
