//! Decides about a call without a model, in place of a person who reads the request elsewhere.

use std::{
    fmt,
    future::{pending, ready},
    sync::Arc,
};

use madang_actors::{
    port::BoxFuture,
    protocol::{ApprovalRequest, Decision, DecisionError},
};
use tracing::debug;

use crate::{RunningCall, runtime::shared::SharedRuntime};

/// Decides about a call without a model ([`Call::approver`](crate::Call::approver)). An "always"
/// covers later calls of the call's session. By default that is a session of its own.
#[derive(Default)]
#[non_exhaustive]
pub enum Approver {
    /// Asks no person. A destructive call ends as unreachable.
    #[default]
    None,
    /// Answers the request with this decision.
    Decided(Decision),
    /// Calls this function with the request. It is called again if it returned edited arguments
    /// that do not fit the tool. If it returns `None`, the request stays open until it expires.
    Ask(Box<dyn Fn(ApprovalRequest) -> BoxFuture<'static, Option<Decision>> + Send + Sync>),
}

impl Approver {
    /// Decides about the requests of this call until it has ended.
    pub(crate) async fn accompany(self, runtime: Arc<SharedRuntime>, mut call: RunningCall) {
        let mut asked = None::<Arc<ApprovalRequest>>;
        let mut decided = None;
        let mut deciding: BoxFuture<'_, Option<Decision>> = Box::pin(pending());
        loop {
            let request = tokio::select! {
                biased;
                request = call.request() => request,
                decision = &mut deciding => {
                    deciding = Box::pin(pending());
                    if let (Some(request), Some(decision)) = (&asked, decision) {
                        decided = Some(decision.clone());
                        if let Err(DecisionError::DoesNotFit { .. }) = decide(&runtime, request, decision).await
                            && matches!(self, Self::Ask(_))
                        {
                            decided = None;
                            deciding = self.decide(request);
                        }
                    }
                    continue;
                }
            };
            let Some(request) = request else { return };
            // A request that was lost with the ConfirmActor comes again; the person is not asked
            // again.
            match (&decided, &asked) {
                // A decision that does not count was reported already.
                (Some(decision), _) => drop(decide(&runtime, &request, decision.clone()).await),
                (None, Some(_)) => {}
                (None, None) => {
                    deciding = self.decide(&request);
                    asked = Some(request);
                }
            }
        }
    }

    fn decide(&self, request: &ApprovalRequest) -> BoxFuture<'static, Option<Decision>> {
        match self {
            Self::None => Box::pin(ready(None)),
            Self::Decided(decision) => Box::pin(ready(Some(decision.clone()))),
            Self::Ask(ask) => ask(request.clone()),
        }
    }
}

async fn decide(
    runtime: &SharedRuntime,
    request: &ApprovalRequest,
    decision: Decision,
) -> Result<(), DecisionError> {
    let ApprovalRequest { user, call, digest, .. } = request;
    let counts = runtime.decide(user, *call, *digest, decision).await;
    if let Err(error) = &counts {
        debug!(%call, %error, "a decision does not count");
    }
    counts
}

impl fmt::Debug for Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Decided(decision) => write!(f, "Decided({decision:?})"),
            Self::Ask(_) => f.write_str("Ask"),
        }
    }
}
