//! The third step of a call: run the handler, in the store's transaction or outside of it, and
//! record its end.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;
use tracing::{error, info};

use super::{
    CallContext,
    authorize::AuthorizedCall,
    context::HandlerRuns,
    late_end::keep_trying,
    msg::CallEnd,
    not_run::NotRun,
    permits::{Held, NoPermit},
    record::{Finished, Record},
};
use crate::{
    failpoint::failpoint,
    ledger::{Ended, Transition},
    mailbox::Recipient,
    port::{
        Access, Need, Prepared, StoreError, ToolContext, ToolFault, ToolResult, Write,
        poll_before_park,
    },
    protocol::{Effect, EffectPolicy, Fault, Locale, ResolvedCall, Text, ToolOutcome},
    store::{Keep, Lease},
};

/// How an authorized call came to its end.
#[derive(Debug)]
pub(super) enum Ran {
    /// The call ended and its end is recorded.
    Ended(CallEnd),
    /// The call ended after its caller had received an end. Holds the effect that is known now, if
    /// it was unknown.
    Late(Option<ResolvedCall>),
    /// The call did not begin, and stays as it is in the ledger.
    Left,
}

/// What a call holds until its end is recorded.
#[derive(Debug, Default)]
pub(super) struct Holds {
    permits: Option<Held>,
    handler: Option<HandlerRuns>,
}

/// Runs an authorized call until its end is recorded. `early` receives the answer of a plain
/// handler that passed its deadline; the future runs until that handler has ended.
///
/// # Errors
/// [`NotRun`] says how the call ends if nothing is run or kept.
pub(super) async fn run(
    authorized: &AuthorizedCall,
    record: &mut Record,
    context: &CallContext,
    early: &Recipient<CallEnd>,
    holds: &mut Holds,
) -> Result<Ran, NotRun> {
    let checked = authorized.checked();
    let request = checked.request();
    let tool = checked.tool();
    let resource = tool.tool().resource(checked.arguments(), &context.tool_context(request));
    // A call waits no longer than its approval counts.
    let patience = patience(authorized, context).min(authorized.usable_for(context.clock.now()));
    let cancelled = request.cancellation.handler_interrupted(authorized.is_approved());
    let permits = context.permits.take(&tool.spec().name, resource, patience, cancelled);
    let permits = permits.await.map_err(|no_permit| match no_permit {
        NoPermit::Late => not_kept(authorized, context, &StoreError::Overloaded),
        NoPermit::Cancelled(interruption) => NotRun::unasked(interruption),
    })?;
    holds.permits = Some(permits);
    goes_on(authorized)?;
    let due = match about_to_run(authorized) {
        Ok(due) => due,
        Err(mismatch) => return Ok(Ran::Ended(Box::pin(mismatch.end(record)).await)),
    };
    match (tool.tool().needs(), tool.spec().effect) {
        (Some(Need::Transaction(_)), _) => in_transaction(authorized, due, record, context).await,
        (Some(Need::Reader(_)), _) | (None, EffectPolicy::Read) => {
            Ok(Box::pin(beside(authorized, due, record, context, early, holds)).await)
        }
        (None, EffectPolicy::Write | EffectPolicy::Destructive) => {
            // No other task resolves what this handler will.
            holds.handler = Some(context.handler_begins(request.call.id));
            let begun = begun(record, due.running.clone()).await;
            begun.map_err(|error| not_kept(authorized, context, &error))?;
            Ok(Box::pin(beside(authorized, due, record, context, early, holds)).await)
        }
    }
}

/// Returns whether a call continues that may have been cancelled while it waited.
fn goes_on(authorized: &AuthorizedCall) -> Result<(), NotRun> {
    let cancellation = &authorized.checked().request().cancellation;
    let interruption = cancellation.before_handler(authorized.is_approved());
    interruption.map_or(Ok(()), |interruption| Err(NotRun::unasked(interruption)))
}

/// The arguments that a handler is about to receive, and the step that says so. The handler's own
/// copy is hashed, and moves into the handler unreachable for other code.
struct Due {
    arguments: Value,
    running: Transition,
}

/// What would run is not what was checked and approved.
struct Mismatch {
    locale: Locale,
}

fn about_to_run(authorized: &AuthorizedCall) -> Result<Due, Mismatch> {
    let checked = authorized.checked();
    let arguments = Value::clone(checked.arguments());
    let digest = checked.digest_of(&arguments);
    if digest != authorized.digest() {
        let request = checked.request();
        error!(call = %request.call.id, tool = %checked.tool().spec().name, "what is about to run is not what was approved");
        return Err(Mismatch { locale: request.locale });
    }
    let running = Transition::Running { arguments: checked.arguments().clone(), digest };
    Ok(Due { running, arguments })
}

impl Mismatch {
    /// Ends the call without running it; the ledger's row of the call is its end.
    async fn end(self, record: &mut Record) -> CallEnd {
        let fault = Fault::named("DigestMismatch");
        let reason = Text::HandlerFailed(&fault).in_locale(self.locale);
        let outcome = ToolOutcome::error("handler_error", reason);
        let end = record.end(Value::Null.into(), Vec::new(), Finished::unrun(outcome)).await;
        record.end_in_ledger().await.unwrap_or(end)
    }
}

/// Commits the handler's writes, the ledger's entry, the outcome and the transcript's entry
/// together, or none of them.
async fn in_transaction(
    authorized: &AuthorizedCall,
    due: Due,
    record: &mut Record,
    context: &CallContext,
) -> Result<Ran, NotRun> {
    let Due { arguments, running } = due;
    let checked = authorized.checked();
    let request = checked.request();
    let tool = checked.tool();
    let ctx = context.tool_context(request);
    let patience = patience(authorized, context);
    let failed = |error: StoreError| not_kept(authorized, context, &error);
    failpoint("run.prepare").await.map_err(|error| failed(error.into()))?;
    let prepared = match timeout(patience, tool.prepare(&arguments, &ctx, &context.limits)).await {
        Ok(prepared) => prepared.map_err(|instead| {
            instead.unwrap_or_else(|fault| outcome_of_fault(fault, authorized, &ctx))
        }),
        Err(_) => Err(timed_out(patience, Effect::None, &ctx)),
    };
    let prepared = prepared.map_err(NotRun::unrun)?;
    let mut lease = lease(authorized, context).await.map_err(failed)?;
    // Other borrowers may have had the transaction for long.
    goes_on(authorized)?;
    let deadline = context.limits.transaction_deadline;
    let access = Access::Transaction(lease.connection());
    // At its deadline the handler is dropped, and directly after that its savepoint is undone on
    // the same connection.
    let work = tool.handle(arguments, prepared, &ctx, access, &context.limits);
    let outcome = match timeout(deadline, poll_before_park(work)).await {
        Ok(result) => result.unwrap_or_else(|fault| outcome_of_fault(fault, authorized, &ctx)),
        Err(_) => timed_out(deadline, Effect::None, &ctx),
    };
    failpoint("run.called").await.map_err(|error| failed(error.into()))?;
    let (keep, effect) =
        if outcome.is_ok() { (Keep::Keep, Effect::Committed) } else { (Keep::Undo, Effect::None) };
    let ended = record.end_step(Finished { outcome, effect, decided_by: None });
    let steps = vec![running, Transition::Ended(ended.clone())];
    let at = context.clock.now();
    match end(lease, keep, record.writes_at(at, steps)).await {
        // The writes and their record share one commit: if it surely failed, none of them happened.
        Err(error) if !error.may_have_happened() => Err(failed(error)),
        written => {
            let end = record.written(checked.arguments().clone(), ended, at, written).await;
            Ok(Ran::Ended(end))
        }
    }
}

async fn begun(record: &mut Record, running: Transition) -> Result<(), StoreError> {
    failpoint("run.begins").await?;
    record.write(vec![running]).await?;
    Ok(failpoint("run.begun").await?)
}

async fn end(lease: Lease, keep: Keep, steps: Vec<Write>) -> Result<(), StoreError> {
    lease.end(keep, steps).await?;
    failpoint("run.committed").await.map_err(|_| StoreError::Silent)
}

async fn lease(authorized: &AuthorizedCall, context: &CallContext) -> Result<Lease, StoreError> {
    failpoint("run.lease").await?;
    let request = authorized.checked().request();
    let tool = authorized.checked().tool();
    let call = (request.session.clone(), request.call.id);
    let lease = context.store.lease_for(tool.spec().name.clone(), Some(call)).await?;
    failpoint("run.leased").await?;
    Ok(lease)
}

/// Runs a handler outside of the transaction. At the deadline the caller is answered. A handler
/// that borrows a connection only reads, and is dropped then. Any other is never dropped, and the
/// task waits for its real end, and until the store takes that.
async fn beside(
    authorized: &AuthorizedCall,
    due: Due,
    record: &mut Record,
    context: &CallContext,
    early: &Recipient<CallEnd>,
    holds: &mut Holds,
) -> Ran {
    let checked = authorized.checked();
    let ctx = context.tool_context(checked.request());
    let is_read = checked.tool().spec().effect == EffectPolicy::Read;
    let deadline = patience(authorized, context);
    let Due { arguments, running } = due;
    let steps = if is_read { vec![running] } else { Vec::new() };
    let mut work = Box::pin(call_beside(authorized, arguments, context, &ctx));
    let (finished, work) = match timeout(deadline, &mut work).await {
        Ok(result) => (finished(result, is_read, authorized, &ctx), None),
        Err(_) => {
            let effect = if is_read { Effect::None } else { Effect::Unknown };
            let outcome = timed_out(deadline, effect, &ctx);
            // Dropped here, so that the lent connection returns however long the record takes.
            let goes_on = checked.tool().tool().needs().is_none().then_some(work);
            (Finished { outcome, effect, decided_by: None }, goes_on)
        }
    };
    let ended = record.end_step(finished);
    let end = record.end_as(checked.arguments().clone(), steps, ended.clone()).await;
    let Some(work) = work else {
        if end.is_recorded || is_read {
            return Ran::Ended(end);
        }
        return owed(ended, end, record, context, early, holds).await;
    };
    let is_settled = end.is_recorded && end.record.effect != Effect::Unknown;
    early.tell(end);
    let late = self::finished(work.await, is_read, authorized, &ctx);
    info!(call = %ctx.call, tool = %checked.tool().spec().name, is_ok = late.outcome.is_ok(), "a late handler ended");
    // A reader left no trace, so nothing is owed. If the ledger does not have its end, the call is
    // its session's again and runs anew. An end that came meanwhile would leave that session
    // waiting for another.
    if is_settled || is_read {
        return Ran::Late(None);
    }
    let late = record.end_step(late);
    let _kept = context.kept_ends.keep(ctx.call, late.clone());
    Ran::Late(keep_trying(record, &late, 0, context).await)
}

/// Answers the caller of a handler that has ended without what the store did not take, and writes
/// its true end later.
async fn owed(
    ended: Ended,
    told: CallEnd,
    record: &mut Record,
    context: &CallContext,
    early: &Recipient<CallEnd>,
    holds: &mut Holds,
) -> Ran {
    // Before the caller is answered: its session wakes anew, and writes this end too.
    let _kept = context.kept_ends.keep(record.call(), ended.clone());
    holds.permits = None;
    if ended.effect == Effect::Unknown {
        // No handler will say more than a person can.
        holds.handler = None;
    }
    early.tell(told);
    Ran::Late(keep_trying(record, &ended, 1, context).await)
}

async fn call_beside(
    authorized: &AuthorizedCall,
    arguments: Value,
    context: &CallContext,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let tool = authorized.checked().tool();
    let limits = &context.limits;
    let prepared = Prepared::default();
    if tool.tool().needs().is_none() {
        return tool.handle(arguments, prepared, ctx, Access::None, limits).await;
    }
    let reader = match failpoint("run.reader").await {
        Ok(()) => context.store.store().reader().await,
        Err(failed) => Err(failed.into()),
    };
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            error!(call = %ctx.call, %error, "no connection for a reading tool");
            return Ok(ToolOutcome::error("store", Text::StoreFailed.in_locale(ctx.locale)));
        }
    };
    tool.handle(arguments, prepared, ctx, Access::Read(reader.connection()), limits).await
}

/// Derives the effect from a plain handler's result. A handler that writes and failed unexpectedly
/// may have taken effect.
fn finished(
    result: ToolResult<ToolOutcome>,
    is_read: bool,
    authorized: &AuthorizedCall,
    ctx: &ToolContext,
) -> Finished {
    let is_unexpected = matches!(result, Err(ToolFault::Unexpected { .. }));
    let outcome = result.unwrap_or_else(|fault| outcome_of_fault(fault, authorized, ctx));
    let effect = match (is_read, is_unexpected, outcome.is_ok()) {
        (true, ..) | (false, false, false) => Effect::None,
        (false, true, _) => Effect::Unknown,
        (false, false, true) => Effect::Committed,
    };
    Finished { outcome, effect, decided_by: None }
}

/// Returns the time that its handler may take, and may wait to begin.
fn patience(authorized: &AuthorizedCall, context: &CallContext) -> Duration {
    authorized.checked().tool().spec().timeout.unwrap_or(context.limits.tool_timeout)
}

fn outcome_of_fault(
    fault: ToolFault,
    authorized: &AuthorizedCall,
    ctx: &ToolContext,
) -> ToolOutcome {
    match fault {
        ToolFault::Rule(rule) => ToolOutcome::Err(rule),
        ToolFault::Unexpected { fault, cause, stack } => {
            let tool = &authorized.checked().tool().spec().name;
            let backtrace = stack.as_deref().map(tracing::field::display);
            error!(call = %ctx.call, %tool, fault = fault.name(), %cause, backtrace, "a handler failed");
            ToolOutcome::error("handler_error", Text::HandlerFailed(&fault).in_locale(ctx.locale))
        }
    }
}

fn timed_out(deadline: Duration, effect: Effect, ctx: &ToolContext) -> ToolOutcome {
    error!(call = %ctx.call, ?deadline, ?effect, "a handler passed its deadline");
    let text = Text::TimedOut { seconds: deadline.as_secs_f64(), effect };
    ToolOutcome::error("timeout", text.in_locale(ctx.locale))
}

/// Makes the end of a call of which the store keeps nothing.
fn not_kept(authorized: &AuthorizedCall, context: &CallContext, error: &StoreError) -> NotRun {
    let request = authorized.checked().request();
    if !matches!(error, StoreError::TooMuchStored) {
        error!(call = %request.call.id, %error, "nothing is run or kept");
    }
    // An approval that expired while it waited is a reached bound as well, even if the store
    // noticed it.
    let is_overloaded = matches!(error, StoreError::Overloaded)
        || authorized.usable_for(context.clock.now()).is_zero();
    let (code, text) =
        if is_overloaded { ("overloaded", Text::Overloaded) } else { ("store", Text::StoreFailed) };
    NotRun::error(code, &text, request)
}
