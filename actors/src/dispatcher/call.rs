//! One running call: a tracked task that no actor owns, so no stop or kill of dispatcher, session or supervisor can cut
//! a handler off. A panic of its pipeline is a value there, and so becomes a `ToolErr`.

use std::sync::{Arc, Mutex};

use tokio::time::Instant;
use tracing::{Instrument as _, debug, error, info};

use super::{
    CallContext,
    authorize::{approval_ended, authorize},
    cancellation::Interruption,
    check::{CheckedCall, check},
    msg::{CallEnd, DispatchRequest, DispatcherEvent},
    not_run::NotRun,
    record::{Record, end_lost},
    responder::Responder,
    run::{Ran, run},
};
use crate::{
    admission::Permit,
    failpoint::failpoint,
    ledger::CallState,
    mailbox::Recipient,
    protocol::{Bound, CancelReason, DecisionError, Fault, Text},
    registry::{Panicked, unwind},
    telemetry::{refused, tool_executed},
};

/// Checks a call and runs it.
///
/// Here and below, rare branches are boxed: a future is moved as a whole when it begins, with the branches that it
/// never takes.
pub(super) async fn begin(
    request: Arc<DispatchRequest>,
    reply: Responder,
    context: Arc<CallContext>,
) {
    match may_begin(&request, &context).await {
        Ok((checked, permit)) => Box::pin(run_to_end(checked, reply, context, permit)).await,
        Err(not_run) => Box::pin(refuse(request, not_run, reply, context)).await,
    }
}

/// Checks a call and takes its permit.
async fn may_begin(
    request: &Arc<DispatchRequest>,
    context: &CallContext,
) -> Result<(CheckedCall, Permit), NotRun> {
    // No call begins for a dismissed turn or for a runtime that ends.
    if let Some(interruption) = request.cancellation.before_handler(false) {
        return Err(interrupted(request, interruption));
    }
    if let Some(max) = request.beyond {
        return Err(NotRun::error("too_many_calls", &Text::TooManyCalls(max), request));
    }
    let checked = check(request.clone(), context)?;
    let permit = admitted(request, context).await?;
    Ok((checked, permit))
}

/// Makes the end of a call that was cancelled before it began.
fn interrupted(request: &DispatchRequest, interruption: Interruption) -> NotRun {
    // An open question ends as its screen was told.
    let is_asked = request.ledger_row.as_ref().is_some_and(|row| row.state == CallState::Awaiting);
    match interruption {
        Interruption::Ends(_) if is_asked => NotRun::because(CancelReason::Dismissed),
        Interruption::Ends(_) | Interruption::Stays => NotRun::unasked(interruption),
    }
}

/// Brings a call to its end, by its pipeline or, where that panics, without it. No other code stops the pipeline.
async fn run_to_end(
    checked: CheckedCall,
    reply: Responder,
    context: Arc<CallContext>,
    _permit: Permit,
) {
    if let Err(error) = failpoint("call.starts").await {
        return error!(%error, "failed to start a call; its caller reads the ledger");
    }
    let (request, span) = (checked.request().clone(), reply.span().clone());
    let reply = Answer(Arc::new(Mutex::new(Some(reply))));
    let early = reply.clone();
    let early = Recipient::function(move |end| {
        early.send(DispatcherEvent::Ended(end));
        true
    });
    let ran = unwind(pipeline(checked, context.clone(), early).instrument(span)).await;
    if failpoint("call.ends").await.is_err() {
        return;
    }
    match ran {
        Ok(Ran::Ended(end)) => reply.send(DispatcherEvent::Ended(end)),
        Ok(Ran::Left) => reply.send(DispatcherEvent::Left { call: request.call.id }),
        // The answer was given early; its caller is told this resolution afterwards.
        Ok(Ran::Late(resolved)) => drop(resolved.map(|resolved| request.late.tell(resolved))),
        Err(Panicked(panic)) => {
            error!(call = %request.call.id, tool = %request.call.name, panic, "a handler panicked");
            let end = Box::pin(end_lost(&context, request, &Fault::PANIC)).await;
            reply.send(DispatcherEvent::Ended(end));
        }
    }
}

/// The answer to a call's caller: given once, at the call's end or at the deadline of its handler. Dropped before, it says
/// that it was lost.
#[derive(Clone)]
struct Answer(Arc<Mutex<Option<Responder>>>);

impl Answer {
    fn send(&self, event: DispatcherEvent) {
        let responder = self.0.lock().expect("no code under this lock panics").take();
        if let Some(responder) = responder {
            responder.send(event);
        }
    }
}

/// Takes a permit for a call. A call that goes on after a crash was admitted before, so it waits.
async fn admitted(request: &DispatchRequest, context: &CallContext) -> Result<Permit, NotRun> {
    let (admission, user) = (&context.admission, &request.user);
    let refusal = match admission.try_admit(Bound::RunningCalls, user, 1) {
        Ok(permit) => return Ok(permit),
        Err(refusal) => refusal,
    };
    if request.ledger_row.is_none() {
        refused(&refusal);
        info!(call = %request.call.id, tool = %request.call.name, %refusal, "a call was refused");
        return Err(NotRun::overloaded(&refusal, request));
    }
    debug!(call = %request.call.id, %refusal, "a call that goes on waits for its permit");
    tokio::select! {
        biased;
        permit = admission.wait(Bound::RunningCalls, user) => Ok(permit),
        interruption = request.cancellation.handler_interrupted(false) => {
            Err(interrupted(request, interruption))
        }
    }
}

async fn refuse(
    request: Arc<DispatchRequest>,
    not_run: NotRun,
    reply: Responder,
    context: Arc<CallContext>,
) {
    let NotRun::Ends { finished, .. } = not_run else {
        return reply.send(DispatcherEvent::Left { call: request.call.id });
    };
    // The outcome tells what the ledger has. Refused arguments are kept as the text that the model wrote.
    let arguments = match &request.ledger_row {
        Some(ledger_row) => ledger_row.arguments.clone(),
        None => request.call.arguments.to_string().into(),
    };
    let end = Record::new(context, request).end(arguments, Vec::new(), *finished).await;
    reply.send(DispatcherEvent::Ended(end));
}

/// Authorizes, runs, records: one straight function.
async fn pipeline(
    checked: CheckedCall,
    context: Arc<CallContext>,
    early: Recipient<CallEnd>,
) -> Ran {
    let mut record = Record::new(context.clone(), checked.request().clone());
    let authorized = match authorize(checked, &mut record, &context).await {
        Ok(authorized) => authorized,
        Err((checked, not_run)) => {
            return Box::pin(unrun(&checked, not_run, &mut record, &context)).await;
        }
    };
    let (checked, began) = (authorized.checked(), Instant::now());
    let ran = match run(&authorized, &mut record, &context, &early).await {
        Ok(ran) => ran,
        Err(not_run) => Box::pin(unrun(checked, not_run, &mut record, &context)).await,
    };
    if !matches!(ran, Ran::Left) {
        tool_executed(&checked.tool().spec().name, began.elapsed());
    }
    ran
}

/// Records the end of a call that does not run, and tells its person.
async fn unrun(
    checked: &CheckedCall,
    not_run: NotRun,
    record: &mut Record,
    context: &CallContext,
) -> Ran {
    let NotRun::Ends { finished, end: asked, decision } = not_run else { return Ran::Left };
    let said = finished.outcome.clone();
    let end = record.end(checked.arguments().clone(), Vec::new(), *finished).await;
    // The ledger may have another end by now.
    let stands = end.is_recorded && end.record.outcome.as_ref() == Some(&said);
    if let Some(decision) = decision {
        let counts = if stands {
            Ok(())
        } else if end.is_recorded || record.row().await.is_ok() {
            Err(DecisionError::NotRecorded)
        } else {
            Err(DecisionError::NotKnown)
        };
        decision.tell(counts);
    }
    if let Some(asked) = asked {
        approval_ended(checked.request(), *asked, stands, context);
    }
    Ran::Ended(end)
}
