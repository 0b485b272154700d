//! Decisions about approval requests, for all surfaces: said twice, said late, said about something else.

use std::time::Duration;

use madang::{
    CallId, Timestamp, UserId,
    approval::{Decision, Digest, InboxItem},
    error::DecisionError,
    ledger::{CallState, LedgerFilter, LedgerRow},
    tool::ToolOutcome,
};
use tokio::time::timeout;

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
    let decide = async || shared.runtime.decide(&caller.user, call, digest, decision.clone()).await;
    let mut decided = decide().await;
    if decided == Err(DecisionError::NotOpen) && asks_again(shared, &caller.user, call).await? {
        decided = decide().await;
    }
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

/// The time that a session may take to ask again once it has woken: longer than a full server takes.
const ASKS_AGAIN_WITHIN: Duration = Duration::from_secs(5);

/// Waits until the person is asked again about a call whose request is open in the ledger and not in this process. The
/// process has begun a moment ago, and the session still sleeps. False where the request is over.
async fn asks_again(shared: &Shared, user: &UserId, call: CallId) -> Result<bool, Problem> {
    let filter = LedgerFilter::call(call).of_user(user);
    let is_open = async || {
        let row = shared.row(&filter).await?;
        Ok::<_, Problem>(row.is_some_and(|row| row.state == CallState::Awaiting))
    };
    if !is_open().await? {
        return Ok(false);
    }
    // An inbox wakes the sessions whose requests are open.
    let mut inbox = shared.runtime.inbox(user).await?;
    let asked = async {
        while let Some(item) = inbox.next().await {
            match item {
                InboxItem::Snapshot { requests } => {
                    if requests.iter().any(|request| request.call == call) {
                        return Ok(true);
                    }
                    // Another decision may just have been stored, of which no item tells any more.
                    if !is_open().await? {
                        return Ok(false);
                    }
                }
                InboxItem::ApprovalRequested { request } if request.call == call => {
                    return Ok(true);
                }
                InboxItem::ApprovalEnded { call: ended, .. } if ended == call => return Ok(false),
                InboxItem::ApprovalRequested { .. } | InboxItem::ApprovalEnded { .. } | _ => {}
            }
        }
        Ok(false)
    };
    timeout(ASKS_AGAIN_WITHIN, asked).await.unwrap_or(Ok(false))
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
