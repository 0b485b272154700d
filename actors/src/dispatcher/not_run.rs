//! The end of a call that does not run: what is recorded, and what its person and readers receive
//! after that.

use tracing::{debug, info};

use super::{
    cancellation::Interruption,
    msg::DispatchRequest,
    record::{Finished, overloaded},
};
use crate::{
    approval::CheckedDecision,
    port::StoreError,
    protocol::{
        ApprovalEnd, Breach, CancelReason, Decision, LimitExceeded, MAX_BYTES, Text, ToolOutcome,
        UserId,
    },
};

/// A reason why a call does not run.
#[derive(Debug)]
pub(super) enum NotRun {
    /// The call ends instead.
    Ends {
        finished: Box<Finished>,
        /// The end of its approval request, which is reported after it is recorded.
        end: Option<Box<ApprovalEnd>>,
        /// The person's denial. It is valid after it is recorded.
        decision: Option<CheckedDecision>,
    },
    /// The call stays as it is in the ledger, with its approval request.
    Left,
}

impl NotRun {
    /// Makes the end of a call about which no person was asked.
    pub(super) fn because(reason: CancelReason) -> Self {
        Self::unrun(ToolOutcome::cancelled(reason))
    }

    /// Makes the end of a call whose approval request ended without a decision.
    pub(super) fn undecided(reason: CancelReason) -> Self {
        let finished = Box::new(Finished::unrun(ToolOutcome::cancelled(reason)));
        let end = Some(Box::new(ApprovalEnd::Cancelled { reason }));
        Self::Ends { finished, end, decision: None }
    }

    /// Makes the end of a call that this user denied.
    pub(super) fn denied(decision: CheckedDecision, by: UserId) -> Self {
        let message = match decision.get() {
            Decision::DenyWith { message } => Some(message.clone()),
            Decision::Approve
            | Decision::ApproveAlways
            | Decision::Deny
            | Decision::Edit { .. } => None,
        };
        let mut finished = Box::new(Finished::unrun(ToolOutcome::denied(message)));
        finished.decided_by = Some(by);
        let end = Some(Box::new(ApprovalEnd::Decided { decision: decision.get().clone() }));
        Self::Ends { finished, end, decision: Some(decision) }
    }

    /// Makes the end of a call whose request passes a bound.
    pub(super) fn overloaded(refusal: &LimitExceeded, request: &DispatchRequest) -> Self {
        Self::unrun(overloaded(refusal, request.locale))
    }

    /// Makes the end of a call whose request is longer than the store takes.
    pub(super) fn too_long(request: &DispatchRequest) -> Self {
        let breach = Breach::TooLong { max_bytes: MAX_BYTES };
        let breach = Text::Breach(&breach).in_locale(request.locale);
        Self::error("validation", &Text::BadArguments(&breach), request)
    }

    /// Makes the end of a call whose request or decision the store could not keep.
    pub(super) fn store(error: &StoreError, request: &DispatchRequest) -> Self {
        debug!(%error, "the store could not keep an approval request or its decision");
        Self::error("store", &Text::StoreFailed, request)
    }

    /// Makes the end of a call that fails with this code and reason.
    pub(super) fn error(code: &'static str, reason: &Text<'_>, request: &DispatchRequest) -> Self {
        Self::unrun(ToolOutcome::error(code, reason.in_locale(request.locale)))
    }

    /// Makes the end of a call that is cancelled while no person is asked about it.
    pub(super) fn unasked(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Ends(reason) => Self::because(reason),
            Interruption::Stays => Self::Left,
        }
    }

    /// Makes the end of a call with this outcome instead of a handler's.
    pub(super) fn unrun(outcome: ToolOutcome) -> Self {
        Self::Ends { finished: Box::new(Finished::unrun(outcome)), end: None, decision: None }
    }

    /// Logs the end of a call that is not authorized: a decision of a person at debug, that of a
    /// bound at info.
    pub(super) fn log(&self, request: &DispatchRequest) {
        let (call, tool) = (&request.call.id, &request.call.name);
        let Self::Ends { finished, .. } = self else { return };
        match &finished.outcome {
            ToolOutcome::Cancelled(why) => {
                debug!(%call, %tool, why = why.reason.name(), "a call was not approved");
            }
            ToolOutcome::Err(why) => {
                info!(%call, %tool, code = &*why.code, "a call could not be approved");
            }
            ToolOutcome::Ok(_) => {}
        }
    }
}

impl From<Interruption> for NotRun {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Ends(reason) => Self::undecided(reason),
            Interruption::Stays => Self::Left,
        }
    }
}
