//! Decides what becomes of a turn that was left open. Pure, from the stored facts to a plan.

use crate::{
    ledger::CallState,
    port::{LedgerRow, OpenTurn, StoreError},
    protocol::{CallId, ChatMessage, Content},
};

/// The stored facts of a session whose turn is open.
#[derive(Debug)]
pub(super) struct Left<'a> {
    /// The open turn.
    pub(super) open: &'a OpenTurn,
    /// The transcript of its session.
    pub(super) messages: &'a [ChatMessage],
    /// The calls of its session that have not ended.
    pub(super) calls: &'a [LedgerRow],
    /// The most resumptions of a turn that makes no progress.
    pub(super) max_resumes: u32,
    /// Whether the runtime has a model with which the turn can go on.
    pub(super) has_model: bool,
}

/// The plan for an open turn.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    /// Calls that no pipeline brings to their end any more: they end as lost, and none of them runs
    /// again.
    pub(super) lost: Vec<CallId>,
    /// The fate of the turn.
    pub(in crate::session) turn: Fate,
}

/// The fate of a turn.
#[derive(Debug, PartialEq)]
pub(super) enum Fate {
    /// The turn ends as failed.
    Ends {
        /// Why it does not go on.
        reason: Reason,
        /// Whether the model was answering when the process ended.
        was_completing: bool,
    },
    /// The turn goes on.
    GoesOn {
        /// The calls of its last round that are dispatched again under their own ids, in order.
        again: Vec<CallId>,
        /// Whether a call of that round asked for the end of the turn.
        stops_loop: bool,
        /// Whether nothing of it begins before a person has decided. Such a resumption does not
        /// count: it can take no process with it.
        waits: bool,
    },
    /// The turn stays open for a start with a model. Calls of it that have not begun stay where the
    /// ledger has them, and no person is asked: what would follow the answer needs a model.
    Stays,
}

/// A reason why a turn does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// It has ended its process too often.
    TooOften,
    /// Its chat was temporary and is erased.
    NoChat,
}

/// Makes the plan. A call that has ended keeps its end. A call whose handler was recorded as begun
/// is lost. Every other call goes on from where the ledger has it.
///
/// A transactional or reading handler is recorded as begun only together with its end. If it was
/// cut off, its call is where it was before and has left no trace. So it runs anew, on the same
/// approval, which was not used up.
///
/// # Errors
/// [`StoreError::Refused`] if a call that is to go on comes before the round that the turn is in.
pub(super) fn plan(left: &Left<'_>) -> Result<Plan, StoreError> {
    let Left { open, messages, calls, max_resumes, has_model } = *left;
    let of_turn = |message: &&ChatMessage| message.turn == open.turn;
    let has_chat = messages
        .iter()
        .filter(of_turn)
        .any(|message| matches!(message.content, Content::User { .. }));
    let goes_on = |row: &&LedgerRow| row.turn == open.turn && row.state != CallState::Running;
    let (mut again, lost): (Vec<_>, Vec<_>) = calls.iter().partition(goes_on);
    again.sort_by_key(|row| row.seq);
    // A call that asks runs alone: those after it begin after its end.
    let waits = again.first().is_some_and(|first| first.state == CallState::Awaiting);
    let reason = if !has_chat {
        Some(Reason::NoChat)
    } else {
        (!waits && open.resumes >= max_resumes).then_some(Reason::TooOften)
    };
    if let Some(reason) = reason {
        let lost = calls.iter().map(|row| row.call).collect();
        let was_completing = calls.iter().all(|row| row.turn != open.turn);
        return Ok(Plan { lost, turn: Fate::Ends { reason, was_completing } });
    }
    if again.first().is_some_and(|first| first.seq < open.from) {
        return Err(StoreError::refused("an open call stands before the round of its turn"));
    }
    let calls = |rows: Vec<&LedgerRow>| rows.into_iter().map(|row| row.call).collect();
    if !has_model {
        return Ok(Plan { lost: calls(lost), turn: Fate::Stays });
    }
    let stops_loop = messages
        .iter()
        .filter(|message| message.turn == open.turn && message.seq >= open.from)
        .any(
            |message| matches!(&message.content, Content::ToolCall(record) if record.stops_loop()),
        );
    let lost = calls(lost);
    let again = calls(again);
    Ok(Plan { lost, turn: Fate::GoesOn { again, stops_loop, waits } })
}
