//! The record of a call in the ledger, and what the ledger shows if a reply was lost.

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
        Approval, CallId, CallRecord, CallResult, Effect, EffectResolution, LimitExceeded, Locale,
        ResolvedBy, ResolvedCall, Text, Timestamp, ToolOutcome, UserId,
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
    shown: Option<Arc<Value>>,
    /// The arguments that were shown, if the user changed them.
    asked: Option<Arc<Value>>,
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

    /// Makes facts of the steps, taken at this moment. The proposal comes before them if the ledger
    /// does not have it yet.
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

    /// Returns whether the ledger has the last of these steps, and so all of them, because they are
    /// written together.
    async fn has_taken(&self, at: Timestamp, steps: &[Transition]) -> bool {
        let session = &self.request.session;
        let Ok((links, _)) = self.context.store.store().links(session).await else { return false };
        let mut taken = links.iter().filter(|link| link.call == self.request.call.id);
        taken.any(|link| link.at == at && Some(&link.transition) == steps.last())
    }

    /// Returns the id of the call.
    pub(super) fn call(&self) -> CallId {
        self.request.call.id
    }

    /// Makes the news of how the call was resolved.
    pub(super) fn resolved(&self, resolution: EffectResolution, by: ResolvedBy) -> ResolvedCall {
        ResolvedCall { call: self.call(), name: self.request.call.name.clone(), resolution, by }
    }

    /// Reads the ledger's row of the call.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read, or the ledger does not have it.
    pub(super) async fn row(&self) -> Result<LedgerRow, StoreError> {
        let row = row(&self.context, &self.request).await?;
        row.ok_or_else(|| StoreError::refused("the call is not in the ledger"))
    }

    /// Makes the step that ends the call. Its result is discarded if the turn was dismissed while
    /// the handler ran.
    pub(super) fn end_step(&self, finished: Finished) -> Ended {
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

    /// Records the end and returns what became of the call.
    pub(super) async fn end(
        &mut self,
        arguments: Arc<Value>,
        steps: Vec<Transition>,
        finished: Finished,
    ) -> CallEnd {
        let ended = self.end_step(finished);
        self.end_as(arguments, steps, ended).await
    }

    /// Records this end and returns what became of the call.
    pub(super) async fn end_as(
        &mut self,
        arguments: Arc<Value>,
        mut steps: Vec<Transition>,
        mut ended: Ended,
    ) -> CallEnd {
        if !self.has_arguments && steps.is_empty() && !arguments.is_string() {
            // The call ends before another step is written that has its arguments.
            ended.arguments = Some(arguments.clone());
        }
        steps.push(Transition::Ended(ended.clone()));
        let at = self.context.clock.now();
        let written = self.write_at(at, steps).await;
        self.written(arguments, ended, at, written).await
    }

    /// Returns what became of a call whose end was written at this moment with this result.
    pub(super) async fn written(
        &self,
        arguments: Arc<Value>,
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

    /// Returns what became of a call whose end the store may not have. Only the ledger decides.
    async fn looked_up(
        &self,
        arguments: Arc<Value>,
        ended: Ended,
        at: Timestamp,
        cause: &StoreError,
    ) -> CallEnd {
        let request = &self.request;
        if let StoreError::TooMuchStored = cause {
            let refusal = LimitExceeded::of_stored_bytes(&self.context.limits);
            info!(call = %request.call.id, tool = %request.call.name, %refusal, "a call was refused");
            let outcome = overloaded(&refusal, request.locale);
            // The store refuses the end with the beginning of its turn, before which nothing has an
            // effect.
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

    /// Returns the end that the ledger has, if it has one.
    pub(super) async fn end_in_ledger(&self) -> Option<CallEnd> {
        let row = row(&self.context, &self.request).await.ok()??;
        end_of(&row)
    }

    fn call_end(
        &self,
        arguments: Arc<Value>,
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

pub(super) async fn row(
    context: &CallContext,
    request: &DispatchRequest,
) -> Result<Option<LedgerRow>, StoreError> {
    let filter = LedgerFilter::call(request.call.id).in_session(&request.session);
    failpoint("record.reads").await?;
    Ok(context.store.store().calls(&filter).await?.pop())
}

pub(super) fn end_of(row: &LedgerRow) -> Option<CallEnd> {
    Some(CallEnd { seq: row.seq, record: Box::new(row.record()?), is_recorded: true })
}
