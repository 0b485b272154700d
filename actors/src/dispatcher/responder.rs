//! The duty to answer a call's asker, with the span that tells the same.

use tracing::Span;

use super::{
    CallContext,
    msg::{DispatchRequest, DispatcherEvent},
};
use crate::{
    mailbox::Reply,
    telemetry::{ToolCallSpan, Whose},
};

/// Answers once, to the asker and in the call's span.
#[derive(Debug)]
pub(super) struct Responder {
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
        let whose = Whose { session, user, turn: *turn, call: call.id };
        Self { reply, span: ToolCallSpan::begin(&request.span, tool, whose) }
    }

    /// Gives the span in which the call does its work.
    pub(super) const fn span(&self) -> &Span {
        self.span.span()
    }

    pub(super) fn send(self, event: DispatcherEvent) {
        let Self { reply, span } = self;
        match &event {
            DispatcherEvent::Ended(end) => span.ended(end.record.outcome.as_ref()),
            DispatcherEvent::Left { .. } => span.left(),
            DispatcherEvent::ApprovalRequested { .. }
            | DispatcherEvent::ApprovalEnded { .. }
            | DispatcherEvent::Lost { .. } => drop(span),
        }
        reply.send(event);
    }
}
