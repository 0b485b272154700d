//! The record of a call in the ledger, and what the ledger says when a reply was lost.

use std::sync::Arc;

use serde_json::Value;
use tracing::{error, info};

use super::{
    CallContext,
    msg::{CallEnd, DispatchRequest},
};
use crate::{
    failpoint::failpoint,
    ledger::{CallState, Ended, Transition},
    port::{LedgerFilter, LedgerRow, StoreError, Write},
    protocol::{
        Approval, CallRecord, CallResult, Effect, EffectPolicy, EffectResolution, Fault,
        LimitExceeded, Locale, ResolvedBy, ResolvedCall, Text, Timestamp, ToolOutcome, UserId,
    },
};

/// Writes one call down. It tracks which steps the ledger has, so that each is written once.
#[derive(Debug)]
pub(super) struct Record {
    context: Arc<CallContext>,
    request: Arc<DispatchRequest>,
    proposed_at: Timestamp,
    is_proposed: bool,
    /// The ledger may have a step of which no answer came.
    is_doubtful: bool,
    /// The ledger has the validated arguments.
    has_arguments: bool,
    approval: Option<Approval>,
    /// The texts that the person was shown.
    shown: Option<Value>,
    /// The arguments that were shown, where the user changed them.
    asked: Option<Value>,
}

/// How a call ended, before it is recorded.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    pub(super) outcome: ToolOutcome,
    pub(super) effect: Effect,
    pub(super) decided_by: Option<UserId>,
}

impl Finished {
    /// Makes an end before the handler began.
    pub(super) const fn unrun(outcome: ToolOutcome) -> Self {
        Self { outcome, effect: Effect::None, decided_by: None }
    }
}

impl Record {
    pub(super) fn new(context: Arc<CallContext>, request: Arc<DispatchRequest>) -> Self {
        let ledger_row = request.ledger_row.as_ref();
        let proposed_at = ledger_row.map_or(request.proposed_at, |call| call.proposed_at);
        let is_proposed = ledger_row.is_some();
        let approval = ledger_row.and_then(|call| call.approval);
        let asked = ledger_row.and_then(|call| call.asked.clone());
        let shown = ledger_row.filter(|call| call.state == CallState::Awaiting);
        let shown = shown.map(|call| call.arguments.clone());
        let has_arguments = ledger_row.is_some_and(|call| call.state != CallState::Proposed);
        Self {
            context,
            request,
            proposed_at,
            is_proposed,
            is_doubtful: false,
            has_arguments,
            approval,
            shown,
            asked,
        }
    }

    /// Makes facts of the steps, taken at this moment; the proposal comes before them where the ledger has none yet.
    pub(super) fn writes_at(&self, at: Timestamp, steps: Vec<Transition>) -> Vec<Write> {
        let request = &self.request;
        let proposal = (!self.is_proposed).then(|| request.proposal());
        let step = |(at, transition)| Write::Call {
            session: request.session.clone(),
            call: request.call.id,
            at,
            transition,
        };
        let preamble = if self.is_proposed { Vec::new() } else { request.preamble.clone() };
        let proposal = proposal.map(|proposal| (self.proposed_at, proposal));
        let steps =
            proposal.into_iter().chain(steps.into_iter().map(|transition| (at, transition)));
        preamble.into_iter().chain(steps.map(step)).collect()
    }

    /// Makes steps durable.
    pub(super) async fn write(&mut self, steps: Vec<Transition>) -> Result<(), StoreError> {
        self.write_at(self.context.clock.now(), steps).await
    }

    /// Makes steps durable that were taken at this moment and on which other steps rely.
    pub(super) async fn write_at(
        &mut self,
        at: Timestamp,
        steps: Vec<Transition>,
    ) -> Result<(), StoreError> {
        failpoint("record.writes").await?;
        let written = self.context.store.write(self.writes_at(at, steps.clone())).await;
        let written = match written {
            Ok(()) => failpoint("record.written").await.map_err(|_| StoreError::Silent),
            Err(cause) => Err(cause),
        };
        if let Err(cause) = written
            && !(cause.may_have_happened() && Box::pin(self.has_taken(at, &steps)).await)
        {
            self.is_doubtful |= cause.may_have_happened();
            return Err(cause);
        }
        self.is_proposed = true;
        for step in steps {
            self.has_arguments |= step.to().is_some_and(|to| to != CallState::Proposed);
            match step {
                Transition::Awaiting { arguments, .. } => self.shown = Some(arguments),
                Transition::Approved { approval, arguments, .. } => {
                    self.approval = Some(approval);
                    self.asked = self.shown.take().filter(|_| arguments.is_some());
                }
                Transition::Proposed(_)
                | Transition::Running { .. }
                | Transition::Ended(_)
                | Transition::Resolved { .. }
                | Transition::Revoked { .. } => {}
            }
        }
        Ok(())
    }

    /// Tells whether the ledger has the last of these steps, and so all of them: they are written together.
    async fn has_taken(&self, at: Timestamp, steps: &[Transition]) -> bool {
        let session = &self.request.session;
        let Ok((links, _)) = self.context.store.store().links(session).await else { return false };
        let mut taken = links.iter().filter(|link| link.call == self.request.call.id);
        taken.any(|link| link.at == at && Some(&link.transition) == steps.last())
    }

    /// Reads the ledger's row of the call.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read, or the ledger does not have it.
    pub(super) async fn row(&self) -> Result<LedgerRow, StoreError> {
        let row = row(&self.context, &self.request).await?;
        row.ok_or_else(|| StoreError::refused("the call is not in the ledger"))
    }

    /// Makes the step that ends the call. Its result is discarded where the turn was dismissed while the handler ran.
    pub(super) fn ended(&self, finished: Finished) -> Ended {
        let ran = !matches!(finished.outcome, ToolOutcome::Cancelled(_));
        let is_discarded = ran && self.request.cancellation.discards();
        let result = if is_discarded { CallResult::Discarded } else { CallResult::Shown };
        Ended {
            arguments: None,
            outcome: finished.outcome,
            effect: finished.effect,
            result,
            decided_by: finished.decided_by,
        }
    }

    /// Records the end and gives what became of the call.
    pub(super) async fn end(
        &mut self,
        arguments: Value,
        mut steps: Vec<Transition>,
        finished: Finished,
    ) -> CallEnd {
        let mut ended = self.ended(finished);
        if !self.has_arguments && steps.is_empty() && !arguments.is_string() {
            // The call ends before another step is written that has its arguments.
            ended.arguments = Some(Box::new(arguments.clone()));
        }
        steps.push(Transition::Ended(ended.clone()));
        let at = self.context.clock.now();
        let written = self.write_at(at, steps).await;
        self.written(arguments, ended, at, written).await
    }

    /// Records the effect of a call that the ledger has with effect `unknown`, and gives it. An effect that is still
    /// unknown stays so, and a person can resolve it. A resolution that the ledger already has stays.
    pub(super) async fn resolve_late(&mut self, late: &Finished) -> Option<ResolvedCall> {
        let resolution = EffectResolution::of(late.effect)?;
        let (call, by) = (self.request.call.id, ResolvedBy::Handler);
        let resolved = Transition::Resolved { resolution, by: by.clone() };
        if let Err(cause) = self.write(vec![resolved]).await {
            let resolved_by = self.row().await.ok().and_then(|row| row.resolved_by);
            if resolved_by.as_ref() != Some(&by) {
                error!(%call, ?resolved_by, %cause, "failed to record the late end of a call");
                return None;
            }
        }
        Some(ResolvedCall { call, name: self.request.call.name.clone(), resolution, by })
    }

    /// Gives what became of a call whose end was written at this moment with this result.
    pub(super) async fn written(
        &self,
        arguments: Value,
        ended: Ended,
        at: Timestamp,
        written: Result<(), StoreError>,
    ) -> CallEnd {
        match written {
            Ok(()) if self.is_doubtful => {
                let end = Box::pin(self.end_in_ledger()).await;
                end.unwrap_or_else(|| self.call_end(arguments, ended, at, true))
            }
            Ok(()) => self.call_end(arguments, ended, at, true),
            Err(cause) => Box::pin(self.looked_up(arguments, ended, at, &cause)).await,
        }
    }

    /// Gives what became of a call whose end the store may not have. Only the ledger decides.
    async fn looked_up(
        &self,
        arguments: Value,
        ended: Ended,
        at: Timestamp,
        cause: &StoreError,
    ) -> CallEnd {
        let request = &self.request;
        if let StoreError::TooMuchStored = cause {
            let refusal = LimitExceeded::of_stored_bytes(&self.context.limits);
            info!(call = %request.call.id, tool = %request.call.name, %refusal, "a call was refused");
            let outcome = overloaded(&refusal, request.locale);
            // The store refuses the end with the beginning of its turn, before which nothing has an effect.
            return self.call_end(arguments, Ended { outcome, ..ended }, at, false);
        }
        error!(call = %request.call.id, %cause, "failed to record the end of a call");
        if let Some(end) = self.end_in_ledger().await {
            return end;
        }
        let effect = if ended.effect == Effect::None { Effect::None } else { Effect::Unknown };
        let text = if effect == Effect::None { Text::StoreFailed } else { Text::EndUnknown };
        let outcome = ToolOutcome::error("store", text.in_locale(request.locale));
        self.call_end(arguments, Ended { outcome, effect, ..ended }, at, false)
    }

    /// Gives the end that the ledger has, if it has one.
    pub(super) async fn end_in_ledger(&self) -> Option<CallEnd> {
        let row = row(&self.context, &self.request).await.ok()??;
        end_of(&row)
    }

    fn call_end(
        &self,
        arguments: Value,
        ended: Ended,
        at: Timestamp,
        is_recorded: bool,
    ) -> CallEnd {
        let outcome = (ended.result == CallResult::Shown).then_some(ended.outcome);
        let record = Box::new(CallRecord {
            id: self.request.call.id,
            name: self.request.call.name.clone(),
            arguments,
            model: self.request.call.model.clone(),
            opaque: self.request.call.opaque.clone(),
            asked: self.asked.clone(),
            approval: self.approval,
            outcome,
            effect: ended.effect,
            resolved_by: None,
            result: ended.result,
            proposed_at: self.proposed_at,
            ended_at: at,
        });
        CallEnd { seq: self.request.seq, record, is_recorded }
    }
}

/// Makes the outcome of a call that was not admitted.
pub(super) fn overloaded(refusal: &LimitExceeded, locale: Locale) -> ToolOutcome {
    ToolOutcome::error("overloaded", Text::TooMany(refusal).in_locale(locale))
}

async fn row(
    context: &CallContext,
    request: &DispatchRequest,
) -> Result<Option<LedgerRow>, StoreError> {
    let filter = LedgerFilter::call(request.call.id).in_session(&request.session);
    failpoint("record.reads").await?;
    Ok(context.store.store().calls(&filter).await?.pop())
}

fn end_of(row: &LedgerRow) -> Option<CallEnd> {
    Some(CallEnd { seq: row.seq, record: Box::new(row.record()?), is_recorded: true })
}

/// Brings a call whose pipeline is gone to its end: the end that the ledger has, or `handler_error` with this fault.
///
/// Its effect is `none` where the ledger says that the handler had not begun. It is `none` too where the handler only
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
    let finished = gone(context, &request.call.name, state, fault, request.locale);
    let arguments = row
        .as_ref()
        .map_or_else(|| Value::from(&*request.call.arguments), |row| row.arguments.clone());
    let ledger_row = row.map(Box::new);
    let request = DispatchRequest { ledger_row, ..Arc::unwrap_or_clone(request) };
    let mut record = Record::new(context.clone(), Arc::new(request));
    record.end(arguments, Vec::new(), finished).await
}

/// Makes the end of a call that no pipeline will bring to its end any more. It is to be written as it is.
#[must_use]
pub fn end_of_lost(context: &CallContext, row: &LedgerRow, locale: Locale) -> Ended {
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
