//! The third step of a call: run the handler, in the store's transaction or beside it, and record its end.

use std::time::Duration;

use tokio::time::timeout;
use tracing::{error, info, warn};

use super::{
    Around,
    clear::ClearedCall,
    msg::CallEnd,
    record::{Finished, Record},
};
use crate::{
    ledger::Transition,
    mailbox::Recipient,
    port::{Access, Prepared, StoreError, ToolContext, ToolFault, ToolResult},
    protocol::{CancelReason, Effect, EffectPolicy, Text, ToolOutcome},
    store::Keep,
};

/// How a cleared call came to its end.
pub(super) enum Ran {
    /// With its recorded end.
    Ended(Box<CallEnd>),
    /// After its asker had been told an end.
    Told,
    /// It did not begin, and stays where the ledger has it.
    Left,
}

/// Runs a cleared call to its recorded end. `early` takes the answer of a plain handler that passed its deadline; the
/// future goes on until that handler has ended.
pub(super) async fn run(
    cleared: ClearedCall,
    record: &mut Record,
    around: &Around,
    early: &Recipient<CallEnd>,
) -> Ran {
    let checked = cleared.checked();
    let (request, tool) = (checked.request(), checked.tool());
    let _place = match around.places_of(&tool.spec().name) {
        // A handler that passed its deadline keeps its place, so nobody waits for one longer than a deadline.
        Some(places) => tokio::select! {
            place = timeout(patience(&cleared, around), places.acquire_owned()) => match place {
                Ok(place) => place.ok(),
                Err(_) => {
                    let end = not_run(&cleared, record, &StoreError::Overloaded).await;
                    return Ran::Ended(Box::new(end));
                }
            },
            () = request.dismissal.stopped() => None,
            () = request.leave.cancelled() => return Ran::Left,
        },
        None => None,
    };
    if request.dismissal.stops() {
        let dismissed = Finished::unrun(ToolOutcome::cancelled(CancelReason::Dismissed));
        let end = record.end(checked.arguments().clone(), Vec::new(), dismissed).await;
        return Ran::Ended(Box::new(end));
    }
    let end = match (tool.spec().effect, tool.tool().needs()) {
        (EffectPolicy::Write | EffectPolicy::Destructive, Some(_)) => {
            Some(in_transaction(&cleared, record, around).await)
        }
        (EffectPolicy::Read, _) => beside(&cleared, record, around, early).await,
        (EffectPolicy::Write | EffectPolicy::Destructive, None) => {
            match record.write(vec![running(&cleared)]).await {
                Ok(()) => beside(&cleared, record, around, early).await,
                Err(error) => Some(not_run(&cleared, record, &error).await),
            }
        }
    };
    end.map_or(Ran::Told, |end| Ran::Ended(Box::new(end)))
}

/// The handler's writes, the ledger's entry, the outcome and the transcript's entry commit together, or none of them.
async fn in_transaction(cleared: &ClearedCall, record: &mut Record, around: &Around) -> CallEnd {
    let checked = cleared.checked();
    let (request, tool) = (checked.request(), checked.tool().tool());
    let ctx = around.context(request);
    let patience = patience(cleared, around);
    let prepared = match timeout(patience, tool.prepare(checked.arguments(), &ctx)).await {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(fault)) => {
            let outcome = told(fault, cleared, &ctx);
            return record
                .end(checked.arguments().clone(), Vec::new(), Finished::unrun(outcome))
                .await;
        }
        Err(_) => {
            let outcome = timed_out(patience, Effect::None, &ctx);
            return record
                .end(checked.arguments().clone(), Vec::new(), Finished::unrun(outcome))
                .await;
        }
    };
    let mut lease = match around.store.lease(checked.tool().spec().name.clone()).await {
        Ok(lease) => lease,
        Err(error) => return not_run(cleared, record, &error).await,
    };
    let deadline = around.limits.transaction_deadline;
    let access = Access::Transaction(lease.connection());
    // Past the deadline the handler is dropped, and its savepoint undone right behind it on the same connection.
    let outcome =
        match timeout(deadline, tool.call(checked.arguments().clone(), prepared, &ctx, access))
            .await
        {
            Ok(result) => result.unwrap_or_else(|fault| told(fault, cleared, &ctx)),
            Err(_) => timed_out(deadline, Effect::None, &ctx),
        };
    let (keep, effect) =
        if outcome.is_ok() { (Keep::Keep, Effect::Committed) } else { (Keep::Undo, Effect::None) };
    let ended = record.ended(&Finished { outcome, effect, decided_by: None });
    let steps = vec![running(cleared), Transition::Ended(ended.clone())];
    match lease.end(keep, record.writes(steps)).await {
        // The writes and their record share one commit: where it surely did not happen, nothing did.
        Err(error) if !error.may_have_happened() => not_run(cleared, record, &error).await,
        written => record.told(checked.arguments().clone(), ended, written).await,
    }
}

/// A handler outside the transaction. It is never dropped: past its deadline the asker is told, and its real end is
/// waited for.
async fn beside(
    cleared: &ClearedCall,
    record: &mut Record,
    around: &Around,
    early: &Recipient<CallEnd>,
) -> Option<CallEnd> {
    let checked = cleared.checked();
    let ctx = around.context(checked.request());
    let is_read = checked.tool().spec().effect == EffectPolicy::Read;
    let deadline = patience(cleared, around);
    let steps = if is_read { vec![running(cleared)] } else { Vec::new() };
    let mut work = Box::pin(call_beside(cleared, around, &ctx));
    let (finished, is_over) = match timeout(deadline, &mut work).await {
        Ok(result) => (finished(result, is_read, cleared, &ctx), true),
        Err(_) => {
            let effect = if is_read { Effect::None } else { Effect::Unknown };
            warn!(call = %ctx.call, tool = %checked.tool().spec().name, ?deadline, "a handler passed its deadline");
            (
                Finished { outcome: timed_out(deadline, effect, &ctx), effect, decided_by: None },
                false,
            )
        }
    };
    let end = record.end(checked.arguments().clone(), steps, finished).await;
    if is_over {
        return Some(end);
    }
    let is_recorded = end.is_recorded;
    early.tell(end);
    let late = self::finished(work.await, is_read, cleared, &ctx);
    info!(call = %ctx.call, tool = %checked.tool().spec().name, is_ok = late.outcome.is_ok(), "a late handler ended");
    if !is_recorded {
        record.end(checked.arguments().clone(), Vec::new(), late).await;
    } else if !is_read {
        record.settle_late(&late).await;
    }
    None
}

async fn call_beside(
    cleared: &ClearedCall,
    around: &Around,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let checked = cleared.checked();
    let tool = checked.tool().tool();
    let arguments = checked.arguments().clone();
    if tool.needs().is_none() {
        return tool.call(arguments, Prepared::default(), ctx, Access::None).await;
    }
    let mut reader = match around.store.store().reader().await {
        Ok(reader) => reader,
        Err(error) => {
            error!(call = %ctx.call, %error, "no connection for a reading tool");
            return Ok(ToolOutcome::error("store", Text::StoreFailed.in_locale(ctx.locale)));
        }
    };
    tool.call(arguments, Prepared::default(), ctx, Access::Read(reader.connection())).await
}

/// What a plain handler's result says of its effect: one that wrote and failed unexpectedly may have taken effect.
fn finished(
    result: ToolResult<ToolOutcome>,
    is_read: bool,
    cleared: &ClearedCall,
    ctx: &ToolContext,
) -> Finished {
    let is_unexpected = matches!(result, Err(ToolFault::Unexpected { .. }));
    let outcome = result.unwrap_or_else(|fault| told(fault, cleared, ctx));
    let effect = match (is_read, is_unexpected, outcome.is_ok()) {
        (true, ..) | (false, false, false) => Effect::None,
        (false, true, _) => Effect::Unknown,
        (false, false, true) => Effect::Committed,
    };
    Finished { outcome, effect, decided_by: None }
}

/// How long its handler may take, and how long it waits to begin.
fn patience(cleared: &ClearedCall, around: &Around) -> Duration {
    cleared.checked().tool().spec().timeout.unwrap_or(around.limits.tool_timeout)
}

fn told(fault: ToolFault, cleared: &ClearedCall, ctx: &ToolContext) -> ToolOutcome {
    match fault {
        ToolFault::Rule(rule) => ToolOutcome::Err(rule),
        ToolFault::Unexpected { fault, cause } => {
            let tool = &cleared.checked().tool().spec().name;
            error!(call = %ctx.call, %tool, fault = fault.name(), %cause, "a handler failed");
            ToolOutcome::error("handler_error", Text::HandlerFailed(&fault).in_locale(ctx.locale))
        }
    }
}

fn timed_out(deadline: Duration, effect: Effect, ctx: &ToolContext) -> ToolOutcome {
    let text = Text::TimedOut { seconds: deadline.as_secs_f64(), effect };
    ToolOutcome::error("timeout", text.in_locale(ctx.locale))
}

fn running(cleared: &ClearedCall) -> Transition {
    let checked = cleared.checked();
    Transition::Running { arguments: checked.arguments().clone(), digest: checked.digest() }
}

async fn not_run(cleared: &ClearedCall, record: &mut Record, error: &StoreError) -> CallEnd {
    let checked = cleared.checked();
    let request = checked.request();
    error!(call = %request.call.id, %error, "nothing is run or kept");
    let is_overloaded = matches!(error, StoreError::Overloaded);
    let (code, text) =
        if is_overloaded { ("overloaded", Text::Overloaded) } else { ("store", Text::StoreFailed) };
    let outcome = ToolOutcome::error(code, text.in_locale(request.locale));
    record.end(checked.arguments().clone(), Vec::new(), Finished::unrun(outcome)).await
}
