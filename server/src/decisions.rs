//! Decides about approval requests, for all surfaces, if a decision comes twice, late, or about
//! something else.

use std::time::Duration;

use madang::{
    CallId, Timestamp, UserId,
    approval::{Decision, Digest},
    error::DecisionError,
    ledger::{CallState, LedgerFilter, LedgerRow},
    tool::ToolOutcome,
};
use tokio::time::{sleep, timeout};

use crate::{auth::caller::Caller, metrics, problem::Problem, state::Shared};

/// A decision that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// It was recorded now.
    Now,
    /// The same user had decided the same before.
    Already,
}

/// Decides for the caller about the approval request of a call. It is safe to decide the same
/// twice.
///
/// # Errors
/// Returns a problem that says why the decision was not accepted, and what was decided instead.
pub(crate) async fn decide(
    shared: &Shared,
    caller: &Caller,
    surface: &'static str,
    call: CallId,
    digest: Digest,
    decision: Decision,
) -> Result<Counts, Problem> {
    let decided = decide_in_time(shared, &caller.user, call, digest, decision.clone()).await?;
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

/// How long a session that woke may take to ask again, and another decision to be recorded.
const DECIDED_WITHIN: Duration = Duration::from_secs(5);

/// Decides about a request. A request that is open in the ledger and not in this process is in a
/// transient state: another decision is being recorded, or the session still sleeps after a start.
async fn decide_in_time(
    shared: &Shared,
    user: &UserId,
    call: CallId,
    digest: Digest,
    decision: Decision,
) -> Result<Result<(), DecisionError>, Problem> {
    let filter = LedgerFilter::call(call).of_user(user);
    let deciding = async {
        let mut pause = Duration::from_millis(1);
        let mut may_sleep = true;
        loop {
            let decided =
                shared.runtime.user_with_id(user).decide(call, digest, decision.clone()).await;
            if decided != Err(DecisionError::NotOpen) {
                return Ok(decided);
            }
            let row = shared.row(&filter).await?;
            let Some(row) = row.filter(|row| row.state == CallState::Awaiting) else {
                return Ok(decided);
            };
            if std::mem::take(&mut may_sleep)
                && let Some(session) =
                    shared.runtime.user_with_id(user).find_session(&row.session).await?
            {
                // Any request to the session wakes it.
                session.turn().await?;
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    };
    timeout(DECIDED_WITHIN, deciding).await.unwrap_or(Ok(Err(DecisionError::NotKnown)))
}

async fn decided_before(
    shared: &Shared,
    user: &UserId,
    call: CallId,
    digest: Digest,
    decision: &Decision,
    error: DecisionError,
) -> Result<Counts, Problem> {
    let row = shared.row(&LedgerFilter::call(call).of_user(user)).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    if row.has_decision(user, digest, decision) {
        return Ok(Counts::Already);
    }
    Err(became(&row, error.into()))
}

/// Adds the end of the request to a problem.
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
