//! The second step of a call: a person's yes, where one is needed. Only this file makes an [`AuthorizedCall`].

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;
use tracing::{debug, error, info};

use super::{
    CallContext,
    check::CheckedCall,
    msg::{DispatchRequest, DispatcherEvent},
    question::{self, Answered},
    record::{Finished, Record, overloaded},
};
use crate::{
    approval::CheckedDecision,
    failpoint::failpoint,
    ledger::{CallState, Transition, text_digest},
    mailbox::answer,
    port::{LedgerFilter, LedgerRow, StoreError},
    protocol::{
        Approval, ApprovalEnd, Asker, Breach, CancelReason, DecisionError, Digest, EffectPolicy,
        MAX_BYTES, StandingApproval, Text, Timestamp, ToolOutcome, UserId,
    },
};

/// A call that may run: it needs no question, or an approval of this very digest is recorded for it.
#[derive(Debug)]
pub(super) struct AuthorizedCall {
    checked: CheckedCall,
    /// The digest of what was checked, and approved where that was needed.
    digest: Digest,
    /// The moment after which its approval cannot be used.
    usable_until: Option<Timestamp>,
}

impl AuthorizedCall {
    pub(super) const fn checked(&self) -> &CheckedCall {
        &self.checked
    }

    pub(super) const fn digest(&self) -> Digest {
        self.digest
    }

    /// Gives the time for which its approval still counts.
    pub(super) fn usable_for(&self, now: Timestamp) -> Duration {
        self.usable_until.map_or(Duration::MAX, |end| now.until(end))
    }

    /// Tells whether a person said yes to it, now or before.
    pub(super) const fn is_approved(&self) -> bool {
        self.usable_until.is_some()
    }

    fn approved(checked: CheckedCall, usable_until: Timestamp) -> Self {
        Self { digest: checked.digest(), checked, usable_until: Some(usable_until) }
    }

    /// Changes what would run without another check.
    #[cfg(test)]
    pub(super) fn plant(&mut self, arguments: serde_json::Value) {
        self.checked.plant(arguments);
    }
}

/// Asks, where the tool's effect and predicate require it and no standing approval covers the call. The question is
/// durable before it is asked, the approval before the call runs.
///
/// # Errors
/// [`NotAuthorized`] says how the call ends instead.
pub(super) async fn authorize(
    checked: CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<AuthorizedCall, (CheckedCall, NotAuthorized)> {
    if let Some(asked) = asked_before(&checked).cloned() {
        return Box::pin(go_on(&asked, checked, record, context)).await;
    }
    if !must_ask(&checked) {
        return Ok(AuthorizedCall { digest: checked.digest(), checked, usable_until: None });
    }
    let request = checked.request();
    // A standing approval is for a user that sees its effects: after a dismissal it covers no call.
    if let Some(reason) = request.cancellation.before_question() {
        return Err((checked, NotAuthorized::because(reason)));
    }
    match Box::pin(by_standing_approval(&checked, record, context)).await {
        Ok(Some(usable_until)) => return Ok(AuthorizedCall::approved(checked, usable_until)),
        Ok(None) => {}
        Err(error) => {
            let not_authorized = NotAuthorized::store(&error, &checked);
            return Err((checked, not_authorized));
        }
    }
    if request.asker == Asker::Nobody {
        debug!(call = %request.call.id, "no person can be asked");
        return Err((checked, NotAuthorized::because(CancelReason::Unreachable)));
    }
    let mut checked = checked;
    match Box::pin(ask(&mut checked, record, context)).await {
        Ok((edited, usable_until)) => {
            Ok(AuthorizedCall::approved(edited.unwrap_or(checked), usable_until))
        }
        Err(not_authorized) => {
            not_authorized.log(&checked);
            Err((checked, not_authorized))
        }
    }
}

/// A reason why a call does not run.
#[derive(Debug)]
pub(super) enum NotAuthorized {
    /// The call ends instead.
    Ends {
        finished: Finished,
        /// Tells the person that said no, once it is recorded, that the answer counts.
        recorded: Option<oneshot::Sender<Result<(), DecisionError>>>,
        /// The end of its question, told once it is recorded.
        ended: Option<Box<ApprovalEnd>>,
    },
    /// Its question stays open in the ledger.
    Left,
}

impl NotAuthorized {
    fn because(reason: CancelReason) -> Self {
        Self::unrun(ToolOutcome::cancelled(reason))
    }

    fn denied(
        message: Option<Arc<str>>,
        by: UserId,
        recorded: oneshot::Sender<Result<(), DecisionError>>,
    ) -> Self {
        let mut finished = Finished::unrun(ToolOutcome::denied(message));
        finished.decided_by = Some(by);
        Self::Ends { finished, recorded: Some(recorded), ended: None }
    }

    /// Logs the end: a decision of a person at debug, that of a bound at info.
    fn log(&self, checked: &CheckedCall) {
        let (call, tool) = (&checked.request().call.id, &checked.tool().spec().name);
        match self {
            Self::Ends {
                finished: Finished { outcome: ToolOutcome::Cancelled(why), .. }, ..
            } => {
                debug!(%call, %tool, why = why.reason.name(), "a call was not confirmed");
            }
            Self::Ends { finished: Finished { outcome: ToolOutcome::Err(why), .. }, .. } => {
                info!(%call, %tool, code = &*why.code, "a call could not be confirmed");
            }
            Self::Ends { .. } | Self::Left => {}
        }
    }

    const fn unrun(outcome: ToolOutcome) -> Self {
        Self::Ends { finished: Finished::unrun(outcome), recorded: None, ended: None }
    }

    /// Adds the end of the call's question.
    fn with(mut self, end: ApprovalEnd) -> Self {
        if let Self::Ends { ended, .. } = &mut self {
            *ended = Some(Box::new(end));
        }
        self
    }

    fn store(error: &StoreError, checked: &CheckedCall) -> Self {
        debug!(%error, "the store could not keep a question or its answer");
        Self::unrun(ToolOutcome::error(
            "store",
            Text::StoreFailed.in_locale(checked.request().locale),
        ))
    }
}

fn must_ask(checked: &CheckedCall) -> bool {
    let tool = checked.tool();
    tool.spec().effect == EffectPolicy::Destructive && tool.tool().asks(checked.arguments())
}

/// Gives the call as the ledger has it, if a person was asked about it before its process ended.
fn asked_before(checked: &CheckedCall) -> Option<&LedgerRow> {
    let ledger_row = checked.request().ledger_row.as_deref()?;
    matches!(ledger_row.state, CallState::Awaiting | CallState::Approved).then_some(ledger_row)
}

/// Asks a question again that was asked before, with the same digest and until the same moment. Or takes an approval
/// that was not used up.
async fn go_on(
    asked: &LedgerRow,
    checked: CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<AuthorizedCall, (CheckedCall, NotAuthorized)> {
    // What was shown, or what the user made of it, is told as the ledger has it, whatever becomes of the call.
    let checked = checked.with(asked.arguments.clone(), asked.shown.clone());
    if let Some(reason) = checked.request().cancellation.before_question() {
        let is_asked = asked.state == CallState::Awaiting;
        let reason = if is_asked { CancelReason::Dismissed } else { reason };
        return Err((checked, NotAuthorized::because(reason)));
    }
    // An approval counts only where it was sealed, whatever the tables say.
    if let Err(error) = asked.check_seal(context.store.store().keys()) {
        error!(call = %asked.call, %error, "an approval in the ledger does not count");
        let reason = Text::NotSealed.in_locale(checked.request().locale);
        let unsealed = ToolOutcome::error("approval_not_sealed", reason);
        return Err((checked, NotAuthorized::unrun(unsealed)));
    }
    if asked.digest != Some(checked.digest()) {
        // What would run is not what was shown.
        let reason = Text::ToolChanged.in_locale(checked.request().locale);
        let changed = ToolOutcome::error("tool_changed", reason);
        return Err((checked, NotAuthorized::unrun(changed)));
    }
    let now = context.clock.now();
    let Some(expires_at) = asked.expires_at.filter(|expires_at| now < *expires_at) else {
        // An approval that came in time and could not be used in time is not an expiry.
        let not_authorized = if asked.state == CallState::Approved {
            let reason = Text::Overloaded.in_locale(checked.request().locale);
            NotAuthorized::unrun(ToolOutcome::error("overloaded", reason))
        } else {
            NotAuthorized::because(CancelReason::Expired)
        };
        return Err((checked, not_authorized));
    };
    if asked.state == CallState::Approved {
        return Ok(AuthorizedCall::approved(checked, expires_at));
    }
    let answered = question::again(expires_at, &checked, record, context).await;
    match decide(answered, &checked, record, context).await {
        Ok((edited, usable_until)) => {
            Ok(AuthorizedCall::approved(edited.unwrap_or(checked), usable_until))
        }
        Err(not_authorized) => {
            not_authorized.log(&checked);
            Err((checked, not_authorized))
        }
    }
}

/// Records an approval of this call that rests on a standing approval. `None` where the user must be asked, also where
/// the standing approval was revoked at this moment.
async fn by_standing_approval(
    checked: &CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<Option<Timestamp>, StoreError> {
    let at = context.clock.now();
    let Some((StandingApproval { schema, resource, call, .. }, number)) =
        covering(checked, at, context).await?
    else {
        return Ok(None);
    };
    let usable_until = at.after(context.limits.approval_timeout);
    let awaiting = Transition::Awaiting {
        arguments: checked.arguments().clone(),
        schema: checked.schema(),
        shown: None,
        digest: checked.digest(),
        expires_at: at.after(context.limits.decision_timeout),
    };
    let by = checked.request().user.clone();
    let approval = Approval::Standing { by_call: call, schema, resource, number };
    let approved = approved(checked, by, approval, usable_until);
    let steps = vec![awaiting, sealed(checked, at, approved, context)];
    failpoint("authorize.standing").await?;
    match record.write_at(at, steps).await {
        Ok(()) => Ok(Some(usable_until)),
        Err(refusal @ (StoreError::Refused { .. } | StoreError::Illegal(_))) => {
            debug!(%refusal, "a standing approval does not count any more");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Gives a standing approval that covers the call, and the number that this use of it would have.
async fn covering(
    checked: &CheckedCall,
    at: Timestamp,
    context: &CallContext,
) -> Result<Option<(StandingApproval, u32)>, StoreError> {
    let (request, spec) = (checked.request(), checked.tool().spec());
    let filter = LedgerFilter::standing_approvals().in_session(&request.session);
    failpoint("authorize.reads").await?;
    let store = context.store.store();
    let rows = store.calls(&filter).await?;
    let resource = resource(checked, context);
    let covers = |standing: &StandingApproval| {
        standing.tool == spec.name
            && standing.user == request.user
            && standing.schema == checked.schema()
            && standing.resource == resource
            && at < standing.until
    };
    for row in rows {
        let Some(standing) = row.standing_approval().filter(covers) else { continue };
        if let Err(error) = row.check_seal(store.keys()) {
            error!(call = %row.call, %error, "a standing approval in the ledger does not count");
            continue;
        }
        let used = LedgerFilter::rest_on(standing.call).in_session(&request.session);
        let used = store.calls(&used).await?.len();
        let number = u32::try_from(used).unwrap_or(u32::MAX).saturating_add(1);
        if number <= standing.uses {
            return Ok(Some((standing, number)));
        }
    }
    Ok(None)
}

/// Gives the digest of the resource to which a standing approval about this call is bound, where the tool names one.
fn resource(checked: &CheckedCall, context: &CallContext) -> Option<Digest> {
    let tool = checked.tool().tool();
    let resource = tool.resource(checked.arguments(), &context.tool_context(checked.request()))?;
    Some(text_digest(&resource.key))
}

/// Asks, and records the decision. Gives the call, with other arguments where the user typed some, and the moment until
/// which the approval can be used.
async fn ask(
    checked: &mut CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<(Option<CheckedCall>, Timestamp), NotAuthorized> {
    let answered = question::ask(checked, record, context).await;
    decide(answered, checked, record, context).await
}

/// Records the decision.
async fn decide(
    answered: Result<Answered, StoreError>,
    checked: &CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<(Option<CheckedCall>, Timestamp), NotAuthorized> {
    let answered = answered.map_err(|error| NotAuthorized::store(&error, checked))?;
    let request = checked.request();
    if matches!(answered, Answered::Left) {
        return Err(NotAuthorized::Left);
    }
    let end = answered.end();
    match answered {
        Answered::Decided { decision, by, at, recorded } => {
            let (approval, edited) = match decision {
                CheckedDecision::Approve => (Approval::Once, None),
                CheckedDecision::ApproveAlways => (always(checked, at, context), None),
                CheckedDecision::Edit(typed) => (Approval::Edited, Some(checked.edited(typed))),
                CheckedDecision::Deny { message } => {
                    return Err(NotAuthorized::denied(message, by, recorded).with(end));
                }
            };
            let usable_until = at.after(context.limits.approval_timeout);
            let step = approved(edited.as_ref().unwrap_or(checked), by, approval, usable_until);
            let step = sealed(checked, at, step, context);
            let written = record.write_at(at, vec![step]).await;
            answer(recorded, written.as_ref().copied().map_err(not_counted));
            approval_ended(request, end, written.is_ok());
            written
                .map(|()| (edited, usable_until))
                .map_err(|error| NotAuthorized::store(&error, checked))
        }
        Answered::Cancelled(reason) => Err(NotAuthorized::because(reason).with(end)),
        Answered::Left => Err(NotAuthorized::Left),
        // No question was asked, so no end of one is told.
        Answered::Overloaded(refusal) => {
            Err(NotAuthorized::unrun(overloaded(&refusal, request.locale)))
        }
        Answered::TooLong => {
            let breach = Breach::TooLong { max_bytes: MAX_BYTES };
            let breach = Text::Breach(&breach).in_locale(request.locale);
            let reason = Text::BadArguments(&breach).in_locale(request.locale);
            Err(NotAuthorized::unrun(ToolOutcome::error("validation", reason)))
        }
    }
}

/// Gives the error of an answer that could not be recorded.
const fn not_counted(cause: &StoreError) -> DecisionError {
    if cause.may_have_happened() { DecisionError::NotKnown } else { DecisionError::NotRecorded }
}

/// Tells how a question ended, after the store has it. An end that the store does not have is told as no person's
/// decision.
pub(super) fn approval_ended(request: &DispatchRequest, end: ApprovalEnd, is_recorded: bool) {
    let nobodys = ApprovalEnd::Cancelled { reason: CancelReason::Unreachable };
    let end = if is_recorded { end } else { nobodys };
    request.news.tell(DispatcherEvent::ApprovalEnded { call: request.call.id, end });
}

fn approved(
    checked: &CheckedCall,
    by: UserId,
    approval: Approval,
    expires_at: Timestamp,
) -> Transition {
    let arguments = (approval == Approval::Edited).then(|| checked.arguments().clone());
    Transition::Approved {
        digest: checked.digest(),
        by,
        approval,
        arguments,
        expires_at,
        seal: None,
    }
}

/// Seals the step, which shows later that it was decided here.
fn sealed(
    checked: &CheckedCall,
    at: Timestamp,
    approved: Transition,
    context: &CallContext,
) -> Transition {
    let request = checked.request();
    context.store.store().keys().sealed(&request.session, request.call.id, at, approved)
}

/// Gives the approval that "always" means, as the question says.
fn always(checked: &CheckedCall, at: Timestamp, context: &CallContext) -> Approval {
    Approval::Always {
        schema: checked.schema(),
        until: at.after(context.limits.standing_approval_lifetime),
        uses: context.limits.max_standing_uses,
        resource: resource(checked, context),
    }
}
