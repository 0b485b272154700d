//! The second step of a call: a person's approval, if one is needed. Only this file makes an
//! [`AuthorizedCall`].

use std::time::Duration;

use tracing::{debug, error};

use super::{
    CallContext,
    ask::ask,
    check::CheckedCall,
    msg::{DispatchRequest, DispatcherEvent},
    not_run::NotRun,
    record::Record,
};
use crate::{
    approval::CheckedDecision,
    failpoint::failpoint,
    ledger::{CallState, Transition, text_digest},
    port::{LedgerFilter, LedgerRow, StoreError},
    protocol::{
        Approval, ApprovalEnd, Asks, CancelReason, Decision, DecisionError, Digest, EffectPolicy,
        StandingApproval, Text, Timestamp,
    },
};

/// A call that may run: it needs no approval, or one of this very digest is recorded for it.
#[derive(Debug)]
pub(super) struct AuthorizedCall {
    checked: CheckedCall,
    /// The digest of what was checked, and approved if that was needed.
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

    /// Returns the time for which its approval is still valid.
    pub(super) fn usable_for(&self, now: Timestamp) -> Duration {
        self.usable_until.map_or(Duration::MAX, |end| now.until(end))
    }

    /// Returns whether a person approved it, now or before.
    pub(super) const fn is_approved(&self) -> bool {
        self.usable_until.is_some()
    }

    /// Changes what would run without another check.
    #[cfg(test)]
    pub(super) fn plant(&mut self, arguments: serde_json::Value) {
        self.checked.plant(arguments);
    }
}

/// Authorizes a call: at once if the tool's effect and predicate require no approval, and otherwise
/// with one. The request for one is durable before a person is asked, and the approval before the
/// call runs.
///
/// # Errors
/// [`NotRun`] says how the call ends instead.
pub(super) async fn authorize(
    checked: CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<AuthorizedCall, (CheckedCall, NotRun)> {
    if asked_before(checked.request()).is_none() && !must_ask(&checked) {
        return Ok(AuthorizedCall { digest: checked.digest(), checked, usable_until: None });
    }
    let mut checked = checked;
    match Box::pin(approval(&mut checked, record, context)).await {
        Ok(usable_until) => Ok(AuthorizedCall {
            digest: checked.digest(),
            checked,
            usable_until: Some(usable_until),
        }),
        Err(not_run) => {
            not_run.log(checked.request());
            Err((checked, not_run))
        }
    }
}

/// Obtains an approval: one that the ledger has, one that rests on a standing approval, or a
/// person's. Returns the moment until which it can be used.
async fn approval(
    checked: &mut CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<Timestamp, NotRun> {
    let request = checked.request().clone();
    let open_until = if let Some(asked) = asked_before(&request) {
        let expires_at = go_on(asked, checked, context)?;
        if asked.state == CallState::Approved {
            return Ok(expires_at);
        }
        Some(expires_at)
    } else {
        // A standing approval is for a user that sees its effects, so after a dismissal it covers
        // no call.
        if let Some(reason) = request.cancellation.before_approval() {
            return Err(NotRun::because(reason));
        }
        let standing = by_standing_approval(checked, record, context).await;
        if let Some(usable_until) = standing.map_err(|error| NotRun::store(&error, &request))? {
            return Ok(usable_until);
        }
        if request.asks == Asks::Nobody {
            return Err(NotRun::because(CancelReason::Unreachable));
        }
        None
    };
    let (decision, at) = ask(open_until, checked, record, context).await?;
    decide(decision, at, checked, record, context).await
}

fn must_ask(checked: &CheckedCall) -> bool {
    let tool = checked.tool();
    tool.spec().effect == EffectPolicy::Destructive && tool.tool().asks(checked.arguments())
}

/// Returns the call as the ledger has it, if a person was asked about it before its process ended.
fn asked_before(request: &DispatchRequest) -> Option<&LedgerRow> {
    let ledger_row = request.ledger_row.as_deref()?;
    matches!(ledger_row.state, CallState::Awaiting | CallState::Approved).then_some(ledger_row)
}

/// Goes on with a request or an approval that the ledger has, with the same digest. Returns the
/// moment until which it is valid.
fn go_on(
    asked: &LedgerRow,
    checked: &mut CheckedCall,
    context: &CallContext,
) -> Result<Timestamp, NotRun> {
    // What was shown, or what the user changed in it, is reported as the ledger has it, whatever
    // becomes of the call.
    checked.restore(asked.arguments.clone(), asked.shown.clone());
    let request = checked.request();
    if let Some(reason) = request.cancellation.before_approval() {
        let is_asked = asked.state == CallState::Awaiting;
        let reason = if is_asked { CancelReason::Dismissed } else { reason };
        return Err(NotRun::because(reason));
    }
    // An approval counts only if its seal fits, whatever the tables say.
    if let Err(error) = asked.check_seal(context.store.store().keys()) {
        error!(call = %asked.call, %error, "an approval in the ledger does not count");
        return Err(NotRun::error("approval_not_sealed", &Text::NotSealed, request));
    }
    if asked.digest != Some(checked.digest()) {
        // What would run is not what was shown.
        return Err(NotRun::error("tool_changed", &Text::ToolChanged, request));
    }
    let now = context.clock.now();
    asked.expires_at.filter(|expires_at| now < *expires_at).ok_or_else(|| {
        // An approval that came in time and could not be used in time is not an expiry.
        if asked.state == CallState::Approved {
            NotRun::error("overloaded", &Text::Overloaded, request)
        } else {
            NotRun::because(CancelReason::Expired)
        }
    })
}

/// Records an approval of this call that rests on a standing approval. Returns `None` if the user
/// must be asked, also if the standing approval was revoked at this moment.
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
    let approval = Approval::Standing { by_call: call, schema, resource, number };
    let approved = approved(checked, approval, usable_until);
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

/// Returns a standing approval that covers the call, and the number that this use of it would have.
async fn covering(
    checked: &CheckedCall,
    at: Timestamp,
    context: &CallContext,
) -> Result<Option<(StandingApproval, u32)>, StoreError> {
    let request = checked.request();
    let spec = checked.tool().spec();
    let filter = LedgerFilter::standing_approvals().in_session(&request.session);
    failpoint("authorize.reads").await?;
    let store = context.store.store();
    let rows = store.calls(&filter).await?;
    if rows.is_empty() {
        return Ok(None);
    }
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

/// Returns the digest of the resource to which a standing approval about this call is bound, if the
/// tool names one.
fn resource(checked: &CheckedCall, context: &CallContext) -> Option<Digest> {
    let tool = checked.tool().tool();
    let resource = tool.resource(checked.arguments(), &context.tool_context(checked.request()))?;
    Some(text_digest(&resource.key))
}

/// Records a decision. Returns the moment until which the approval can be used.
async fn decide(
    decision: CheckedDecision,
    at: Timestamp,
    checked: &mut CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<Timestamp, NotRun> {
    let request = checked.request().clone();
    let approval = match decision.get() {
        Decision::Approve => Approval::Once,
        Decision::ApproveAlways => always(checked, at, context),
        Decision::Edit { .. } => Approval::Edited,
        Decision::Deny | Decision::DenyWith { .. } => {
            return Err(NotRun::denied(decision, request.user.clone()));
        }
    };
    let edited = checked.edited(&decision);
    let usable_until = at.after(context.limits.approval_timeout);
    let step = approved(edited.as_ref().unwrap_or(checked), approval, usable_until);
    let step = sealed(checked, at, step, context);
    let written = record.write_at(at, vec![step]).await;
    let end = ApprovalEnd::Decided { decision: decision.get().clone() };
    decision.tell(written.as_ref().copied().map_err(not_counted));
    approval_ended(&request, end, written.is_ok(), context);
    written.map_err(|error| NotRun::store(&error, &request))?;
    if let Some(edited) = edited {
        *checked = edited;
    }
    Ok(usable_until)
}

/// Returns the error of a decision that could not be recorded.
const fn not_counted(cause: &StoreError) -> DecisionError {
    if cause.may_have_happened() { DecisionError::NotKnown } else { DecisionError::NotRecorded }
}

/// Publishes how a request ended, after the store has it. An end that the store does not have is
/// not published as a person's decision.
pub(super) fn approval_ended(
    request: &DispatchRequest,
    end: ApprovalEnd,
    is_recorded: bool,
    context: &CallContext,
) {
    let undecided = ApprovalEnd::Cancelled { reason: CancelReason::Unreachable };
    let end = if is_recorded { end } else { undecided };
    let call = request.call.id;
    context.inboxes.ended(&request.user, call, end.clone());
    request.news.tell(DispatcherEvent::ApprovalEnded { call, end });
}

fn approved(checked: &CheckedCall, approval: Approval, expires_at: Timestamp) -> Transition {
    let by = checked.request().user.clone();
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

/// Returns the approval that "always" means, as the request says.
fn always(checked: &CheckedCall, at: Timestamp, context: &CallContext) -> Approval {
    Approval::Always {
        schema: checked.schema(),
        until: at.after(context.limits.standing_approval_lifetime),
        uses: context.limits.max_standing_uses,
        resource: resource(checked, context),
    }
}
