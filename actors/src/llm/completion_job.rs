//! One completion of the queue: its deadlines, its run, its end.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, debug};

use super::LlmEvent;
use crate::{
    failpoint::failpoint,
    mailbox::Reply,
    port::{ChatModel, Deltas, ModelError},
    protocol::{Completion, CompletionDelta, CompletionRequest, SessionId, Usage, UserId},
    telemetry::{CompletionClock, CompletionSpan},
};

/// A completion that has not ended.
#[derive(Debug)]
pub(super) struct CompletionJob {
    pub(super) request: Box<CompletionRequest>,
    pub(super) deltas: Deltas,
    pub(super) cancel: CancellationToken,
    /// The moment by which its first token must be there.
    pub(super) first_due: Instant,
    pub(super) due: Instant,
    pub(super) span: CompletionSpan,
    pub(super) reply: Reply<LlmEvent>,
}

impl CompletionJob {
    pub(super) fn whose(&self) -> (UserId, SessionId) {
        (self.request.user.clone(), self.request.session.clone())
    }

    pub(super) fn end(self, result: Result<Completion, ModelError>) {
        let Self { request, span, reply, .. } = self;
        span.ended(&result);
        reply.send(LlmEvent::Ended { completion: request.id, result, has_begun: false });
    }
}

/// Lets the model complete, and returns its usage, if that is known.
pub(super) async fn run(model: &dyn ChatModel, job: CompletionJob) -> Option<Usage> {
    let CompletionJob { request, deltas, cancel, first_due, due, span, reply } = job;
    let completion = request.id;
    let clock = span.clock();
    let result = if let Err(failed) = failpoint("job.runs").await {
        Err(ModelError::failed_by(ModelError::ENGINE_DIED, failed))
    } else if cancel.is_cancelled() {
        Err(ModelError::Cancelled { usage: Default::default() })
    } else {
        span.runs();
        let deltas = telling(deltas, clock.clone());
        let work = model.complete(*request, deltas, cancel.clone());
        let work = work.instrument(span.span().clone());
        // Dropping the model's future cancels it; the token also reaches work that it handed to
        // another thread.
        tokio::select! {
            biased;
            result = tokio::time::timeout_at(due, work) => {
                result.unwrap_or_else(|_| Err(ModelError::failed(ModelError::TIMEOUT)))
            }
            () = is_late(first_due, &clock) => Err(ModelError::failed(ModelError::TIMEOUT)),
        }
    };
    cancel.cancel();
    debug!(%completion, is_ok = result.is_ok(), "completion ended");
    let spent = match &result {
        Ok(Completion { usage, .. }) | Err(ModelError::Cancelled { usage }) => Some(*usage),
        Err(ModelError::Failed { .. } | ModelError::Overloaded { .. }) => None,
    };
    span.ended(&result);
    let has_begun = clock.has_first_token();
    reply.send(LlmEvent::Ended { completion, result, has_begun });
    spent
}

/// Wraps the deltas so that the first of them is noted.
fn telling(deltas: Deltas, clock: CompletionClock) -> Deltas {
    Deltas::new(move |delta: CompletionDelta<'_>| {
        clock.ticks();
        deltas.push(delta);
    })
}

/// Ends at this moment, if there is no first token by then; otherwise never.
async fn is_late(first_due: Instant, clock: &CompletionClock) {
    tokio::time::sleep_until(first_due).await;
    if clock.has_first_token() {
        std::future::pending().await
    }
}
