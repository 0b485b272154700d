//! The duty to answer a call's caller, with the span that reports the same.

use tracing::Span;

use super::{
    CallContext,
    msg::{DispatchRequest, DispatcherEvent},
};
use crate::{
    approval::Inboxes,
    mailbox::Reply,
    protocol::{ApprovalEnd, CallId, CancelReason, UserId},
    telemetry::{CallIds, ToolCallSpan},
};

/// Answers once, to the caller and in the call's span.
#[derive(Debug)]
pub(super) struct Responder {
    // Dropped before the reply: after that, the same call may be dispatched and ask again.
    asks: MayAsk,
    reply: Reply<DispatcherEvent>,
    span: ToolCallSpan,
}

impl Responder {
    pub(super) fn new(
        request: &DispatchRequest,
        reply: Reply<DispatcherEvent>,
        context: &CallContext,
    ) -> Self {
        let DispatchRequest { session, user, turn, call, .. } = request;
        let tool = context.registry.get(&call.name).ok().map(|tool| &tool.spec().name);
        let whose = CallIds { session, user, turn: *turn, call: call.id };
        let inboxes = Some(context.inboxes.clone());
        let asks = MayAsk { inboxes, user: user.clone(), call: call.id };
        Self { asks, reply, span: ToolCallSpan::begin(&request.span, tool, whose) }
    }

    /// Returns the span in which the call does its work.
    pub(super) const fn span(&self) -> &Span {
        self.span.span()
    }

    pub(super) fn send(self, event: DispatcherEvent) {
        let Self { asks, reply, span } = self;
        match &event {
            DispatcherEvent::Ended(end) => {
                span.ended(end.record.outcome.as_ref());
                drop(asks);
            }
            DispatcherEvent::Left { .. } => {
                span.left();
                asks.stays();
            }
            DispatcherEvent::ApprovalRequested { .. }
            | DispatcherEvent::ApprovalEnded { .. }
            | DispatcherEvent::Lost { .. } => drop((span, asks)),
        }
        reply.send(event);
    }
}

/// A call that may have an open request. Dropping it closes a request whose end was not reported,
/// so that no further decision is accepted.
#[derive(Debug)]
struct MayAsk {
    inboxes: Option<Inboxes>,
    user: UserId,
    call: CallId,
}

impl MayAsk {
    /// Leaves the request open, as the ledger has it.
    fn stays(mut self) {
        self.inboxes = None;
    }
}

impl Drop for MayAsk {
    fn drop(&mut self) {
        let end = ApprovalEnd::Cancelled { reason: CancelReason::Unreachable };
        if let Some(inboxes) = &self.inboxes {
            inboxes.ended(&self.user, self.call, end);
        }
    }
}
