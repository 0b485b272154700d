//! One running call: an unlinked CallActor that supervises its PipelineActor. Exactly one
//! supervision event ends it.
//!
//! ractor's supervision turns a panic into an event, so a handler's panic becomes a `ToolErr`. No
//! stop or kill of dispatcher, session or supervisor can cut a handler off.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::{Instrument as _, Span, debug, error, info, instrument::Instrumented};

use super::{
    CallContext,
    authorize::{approval_ended, authorize},
    cancellation::Interruption,
    check::{CheckedCall, check},
    lost_end::{end_lost, leaves_no_trace},
    msg::{CallEnd, DispatchRequest, DispatcherEvent},
    not_run::NotRun,
    record::Record,
    responder::Responder,
    run::{Holds, Ran, run},
};
use crate::{
    admission::Permit,
    failpoint::failpoint,
    ledger::CallState,
    mailbox::Recipient,
    port::BoxFuture,
    protocol::{Bound, CancelReason, DecisionError, Fault, Text},
    telemetry::{refused, tool_executed},
};

/// Checks a call and starts its actors. A refusal needs none.
///
/// Here and below, rare branches are boxed, because a future is moved when it begins, together with
/// the branches that it never takes.
pub(super) async fn begin(
    request: Arc<DispatchRequest>,
    reply: Responder,
    context: Arc<CallContext>,
) {
    match may_begin(&request, &context).await {
        Ok((checked, permit)) => Box::pin(start(checked, reply, context, permit)).await,
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
    // An open question ends as its screen has shown.
    let is_asked = request.ledger_row.as_ref().is_some_and(|row| row.state == CallState::Awaiting);
    match interruption {
        Interruption::Ends(_) if is_asked => NotRun::because(CancelReason::Dismissed),
        Interruption::Ends(_) | Interruption::Stays => NotRun::unasked(interruption),
    }
}

/// Starts the actors of a call.
async fn start(checked: CheckedCall, reply: Responder, context: Arc<CallContext>, permit: Permit) {
    let running = context.tasks.token();
    let call = Call {
        request: checked.request().clone(),
        checked: Some(checked),
        reply: Some(reply),
        context,
        _permit: permit,
        _running: running,
    };
    // Boxed: on its way into its actor it is moved by every layer of ractor.
    if let Err(error) = CallActor::spawn(None, CallActor, Box::new(call)).await {
        error!(%error, "failed to start a call; its caller reads the ledger");
    }
}

/// Takes a permit for a call. A call that continues after a crash was admitted before, so it waits.
async fn admitted(request: &DispatchRequest, context: &CallContext) -> Result<Permit, NotRun> {
    let admission = &context.admission;
    let user = &request.user;
    let refusal = match admission.try_admit(Bound::RunningCalls, user, 1) {
        Ok(permit) => return Ok(permit),
        Err(refusal) => refusal,
    };
    if request.ledger_row.is_none() {
        refused(&refusal);
        info!(call = %request.call.id, tool = %request.call.name, %refusal, "a call was refused");
        return Err(NotRun::overloaded(&refusal, request));
    }
    debug!(call = %request.call.id, %refusal, "a resumed call waits for its permit");
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
    // The outcome reports what the ledger has. Refused arguments are kept as the text that the
    // model wrote.
    let arguments = match &request.ledger_row {
        Some(ledger_row) => ledger_row.arguments.clone(),
        None => Value::from(&*request.call.arguments).into(),
    };
    let end = Record::new(context, request).end(arguments, Vec::new(), *finished).await;
    reply.send(DispatcherEvent::Ended(end));
}

/// Supervises one run. No actor supervises it or holds its ref.
struct CallActor;

struct Call {
    request: Arc<DispatchRequest>,
    /// The call, until its run begins.
    checked: Option<CheckedCall>,
    /// The reply, until it is sent.
    reply: Option<Responder>,
    context: Arc<CallContext>,
    _permit: Permit,
    _running: TaskTrackerToken,
}

enum CallMsg {
    /// A plain handler passed its deadline: the caller is answered, and the handler continues.
    Early(CallEnd),
}

impl From<CallEnd> for CallMsg {
    fn from(end: CallEnd) -> Self {
        Self::Early(end)
    }
}

impl Actor for CallActor {
    type Msg = CallMsg;
    type State = Box<Call>;
    type Arguments = Box<Call>;

    async fn pre_start(
        &self,
        me: ActorRef<CallMsg>,
        mut call: Box<Call>,
    ) -> Result<Box<Call>, ActorProcessingErr> {
        failpoint("call.starts").await?;
        let checked = call.checked.take().ok_or("a call is started once")?;
        let span = call.reply.as_ref().map_or_else(Span::none, |reply| reply.span().clone());
        let work: BoxFuture<'_, _> = Box::pin(pipeline(checked, call.context.clone(), me.clone()));
        let work = work.instrument(span);
        failpoint("call.runs").await?;
        PipelineActor::spawn_linked(None, PipelineActor, work, me.get_cell()).await?;
        Ok(call)
    }

    async fn handle(
        &self,
        _: ActorRef<CallMsg>,
        msg: CallMsg,
        call: &mut Box<Call>,
    ) -> Result<(), ActorProcessingErr> {
        failpoint("call.early").await?;
        match msg {
            CallMsg::Early(end) => call.answer(end),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<CallMsg>,
        event: SupervisionEvent,
        call: &mut Box<Call>,
    ) -> Result<(), ActorProcessingErr> {
        failpoint("call.supervises").await?;
        match event {
            SupervisionEvent::ActorTerminated(_, Some(mut state), _) => {
                match state.take::<PipelineState>().ok().and_then(|run| run.end) {
                    Some(Ran::Ended(end)) => call.answer(end),
                    Some(Ran::Left) => call.leave(),
                    // The answer was sent early, and its caller receives this resolution
                    // afterwards.
                    Some(Ran::Late(Some(resolved))) => {
                        call.request.late.tell(resolved);
                    }
                    Some(Ran::Late(None)) | None => {}
                }
            }
            SupervisionEvent::ActorTerminated(_, None, reason) => {
                let reason = reason.as_deref().unwrap_or("ended without a state");
                Box::pin(call.panicked(reason)).await;
            }
            SupervisionEvent::ActorFailed(_, panic) => {
                Box::pin(call.panicked(&panic.to_string())).await;
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {
                return Ok(());
            }
        }
        me.stop(None);
        Ok(())
    }
}

impl Call {
    fn answer(&mut self, end: CallEnd) {
        if let Some(reply) = self.reply.take() {
            reply.send(DispatcherEvent::Ended(end));
        }
    }

    fn leave(&mut self) {
        if let Some(reply) = self.reply.take() {
            reply.send(DispatcherEvent::Left { call: self.request.call.id });
        }
    }

    async fn panicked(&mut self, panic: &str) {
        let request = self.request.clone();
        error!(call = %request.call.id, tool = %request.call.name, panic, "a handler panicked");
        // A late reader owes nothing, as in `run`.
        if self.reply.is_none() && leaves_no_trace(&self.context, &request.call.name) {
            return;
        }
        let end = end_lost(&self.context, request, &Fault::PANIC).await;
        self.answer(end);
    }
}

/// Executes one pipeline and nothing else.
struct PipelineActor;

struct PipelineState {
    work: Option<Work>,
    end: Option<Ran>,
}

type Work = Instrumented<BoxFuture<'static, Ran>>;

enum Never {}

impl Actor for PipelineActor {
    type Msg = Never;
    type State = PipelineState;
    type Arguments = Work;

    async fn pre_start(
        &self,
        _: ActorRef<Never>,
        work: Work,
    ) -> Result<PipelineState, ActorProcessingErr> {
        Ok(PipelineState { work: Some(work), end: None })
    }

    async fn post_start(
        &self,
        me: ActorRef<Never>,
        state: &mut PipelineState,
    ) -> Result<(), ActorProcessingErr> {
        // Never `Err`: so `ActorFailed` is always a panic.
        if let Some(work) = state.work.take() {
            state.end = Some(work.await);
        }
        me.stop(None);
        Ok(())
    }
}

/// Authorizes, runs, records: one straight function.
async fn pipeline(checked: CheckedCall, context: Arc<CallContext>, call: ActorRef<CallMsg>) -> Ran {
    let mut record = Record::new(context.clone(), checked.request().clone());
    let authorized = match authorize(checked, &mut record, &context).await {
        Ok(authorized) => authorized,
        Err((checked, not_run)) => {
            return Box::pin(unrun(&checked, not_run, &mut record, &context)).await;
        }
    };
    let checked = authorized.checked();
    let began = Instant::now();
    let early = Recipient::actor(call);
    let mut holds = Holds::default();
    let ran = match run(&authorized, &mut record, &context, &early, &mut holds).await {
        Ok(ran) => ran,
        Err(not_run) => Box::pin(unrun(checked, not_run, &mut record, &context)).await,
    };
    if !matches!(ran, Ran::Left) {
        tool_executed(&checked.tool().spec().name, began.elapsed());
    }
    ran
}

/// Records the end of a call that does not run, and answers its person.
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
