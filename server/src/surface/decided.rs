//! Carries out the decisions that a client's message brings, about approval requests of one chat.

use madang::{CallId, Session, TurnId, approval::Decision, ledger::LedgerFilter};
use tracing::warn;

use super::approval_id::ApprovalId;
use crate::{
    auth::{caller::Caller, scope::TokenScope},
    decisions::{self, Counts},
    problem::{Problem, ProblemName},
    state::Shared,
};

/// A call about which a client's message decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecidedCall {
    pub(crate) call: CallId,
    /// The turn of the call.
    pub(crate) turn: TurnId,
    /// The number of the call in the chat.
    pub(crate) entry: u64,
    pub(crate) came: Came,
}

/// Decisions that name calls of a chat, and the turn to continue.
#[derive(Debug)]
pub(crate) struct DecidedCalls {
    /// The turn that was open if a decision is about it, or else that of the last decision.
    pub(crate) turn: TurnId,
    pub(crate) calls: Vec<DecidedCall>,
}

impl DecidedCalls {
    /// Chooses the turn to continue. Returns `None` if no decision names a call.
    pub(super) fn of(calls: Vec<DecidedCall>, open: Option<TurnId>) -> Option<Self> {
        let of_open = calls.iter().find(|decided| open == Some(decided.turn));
        let turn = of_open.or(calls.last())?.turn;
        Some(Self { turn, calls })
    }

    /// Returns whether a decision is about this call.
    pub(crate) fn is_about(&self, call: CallId) -> bool {
        self.calls.iter().any(|decided| decided.call == call)
    }
}

/// When a decision came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// In time. It counts from now on.
    Now,
    /// In time before, and now once more.
    Again,
    /// Too late: the request was decided in another way, has expired or was dismissed. The decision
    /// changes nothing.
    Late,
}

/// Decides about requests of a chat. A decision that names no request of the chat, or not the open
/// one, is passed over, because a client that is refused would keep its decision forever.
///
/// # Errors
/// Returns a problem if the caller may not decide, if a decision does not fit, or if it is not
/// known whether it counts.
pub(super) async fn decide(
    shared: &Shared,
    caller: &Caller,
    surface: &'static str,
    session: &Session,
    decisions: Vec<(ApprovalId, Decision)>,
) -> Result<Vec<DecidedCall>, Problem> {
    if !decisions.is_empty() {
        caller.must_have(TokenScope::Decide)?;
    }
    let mut decided = Vec::new();
    for (ApprovalId { call, digest }, decision) in decisions {
        let filter = LedgerFilter::call(call).of_user(session.user()).in_session(session.id());
        let Some(row) = shared.row(&filter).await? else {
            warn!(%call, surface, "a decision names no call of its chat");
            continue;
        };
        let counts = decisions::decide(shared, caller, surface, call, digest, decision).await;
        let came = match counts {
            Ok(Counts::Now) => Came::Now,
            Ok(Counts::Already) => Came::Again,
            Err(problem) if problem.name() != ProblemName::NotOpen => return Err(problem),
            Err(problem) if problem.has("decided") || problem.has("ended") => Came::Late,
            Err(_) => {
                warn!(%call, surface, "a decision is about another request than the one that is open");
                continue;
            }
        };
        decided.push(DecidedCall { call, turn: row.turn, entry: row.seq, came });
    }
    Ok(decided)
}
