//! Decisions about approval requests, for all surfaces: said twice, said late, said about something else.

use madang::{
    CallId, Timestamp, UserId,
    approval::{Decision, Digest},
    error::DecisionError,
    ledger::{LedgerFilter, LedgerRow},
    tool::ToolOutcome,
};

use crate::{auth::caller::Caller, metrics, problem::Problem, state::Shared};

/// A decision that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// It was recorded now.
    Now,
    /// The same user had said the same before.
    Already,
}

/// Decides for the caller about the approval request of a call. Saying the same twice is safe.
///
/// # Errors
/// A problem that says why the decision does not count, and what was decided in its place.
pub(crate) async fn decide(
    shared: &Shared,
    caller: &Caller,
    surface: &'static str,
    call: CallId,
    digest: Digest,
    decision: Decision,
) -> Result<Counts, Problem> {
    let decided = shared.runtime.decide(&caller.user, call, digest, decision.clone()).await;
    let counts = match decided {
        Ok(()) => Ok(Counts::Now),
        Err(error @ (DecisionError::NotOpen | DecisionError::WrongDigest)) => {
            decided_before(shared, &caller.user, call, digest, &decision, error).await
        }
        Err(error) => Err(error.into()),
    };
    let outcome = match &counts {
        Ok(Counts::Now) => "counts",
        Ok(Counts::Already) => "already",
        Err(problem) => problem.name().name(),
    };
    metrics::decided(surface, outcome);
    counts
}

async fn decided_before(
    shared: &Shared,
    user: &UserId,
    call: CallId,
    digest: Digest,
    decision: &Decision,
    error: DecisionError,
) -> Result<Counts, Problem> {
    let rows = shared.runtime.ledger(&LedgerFilter::call(call).of_user(user)).await?;
    let Some(row) = rows.first() else { return Err(Problem::not_found()) };
    if row.has_decision(user, digest, decision) {
        return Ok(Counts::Already);
    }
    Err(became(row, error.into()))
}

/// Adds to a problem what became of the request.
fn became(row: &LedgerRow, problem: Problem) -> Problem {
    #[derive(serde::Serialize)]
    struct Decided {
        #[serde(flatten)]
        decision: Decision,
        by: UserId,
        at: Timestamp,
    }

    let problem = problem.with("call", row.call).with("state", row.state);
    if let Some(recorded) = row.decision() {
        let decided = Decided { decision: recorded.decision, by: recorded.by, at: recorded.at };
        return problem.with("decided", decided);
    }
    match &row.outcome {
        Some(ToolOutcome::Cancelled(why)) => problem.with("ended", why.reason),
        Some(ToolOutcome::Ok(_) | ToolOutcome::Err(_)) | None => problem,
    }
}
