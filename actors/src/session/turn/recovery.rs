//! Decides what becomes of a turn that was left open: pure, from the stored facts to a plan.

use crate::{
    ledger::CallState,
    port::{LedgerRow, OpenTurn},
    protocol::{CallId, ChatMessage, Content, TurnId},
};

/// The stored facts of a session whose turn is open.
#[derive(Debug)]
pub(crate) struct Left<'a> {
    /// The open turn.
    pub(crate) open: &'a OpenTurn,
    /// The transcript of its session.
    pub(crate) messages: &'a [ChatMessage],
    /// The calls of its session that have not ended.
    pub(crate) calls: &'a [LedgerRow],
    /// The turn in which its actor was lost.
    pub(crate) abandoned: Option<TurnId>,
    /// The most resumptions of a turn that makes no step forward.
    pub(crate) max_resumes: u32,
}

/// The plan for an open turn.
#[derive(Debug, PartialEq)]
pub(crate) struct Plan {
    /// Calls that no pipeline brings to their end any more: they end as lost, and none of them runs again.
    pub(crate) lost: Vec<CallId>,
    /// The fate of the turn.
    pub(crate) turn: Fate,
}

/// The fate of a turn.
#[derive(Debug, PartialEq)]
pub(crate) enum Fate {
    /// The turn ends as failed.
    Ends(Reason),
    /// The turn goes on.
    GoesOn {
        /// The calls of its last round that are dispatched again under their own ids, in order.
        again: Vec<CallId>,
        /// Whether a call of that round asked for the end of the turn.
        stops_loop: bool,
    },
}

/// A reason why a turn does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its actor was lost.
    ActorLost,
    /// It took its process with it too often.
    TooOften,
    /// Its chat was kept in memory and is gone.
    NoChat,
}

/// Makes the plan. A call that has ended keeps its end. A call whose handler was recorded as begun is lost. Every other
/// call goes on where the ledger has it.
///
/// A transactional or reading handler is recorded as begun only together with its end. One that was cut off stands
/// where it was before and has left no trace. So it runs anew, on the same approval, which was not used up.
pub(crate) fn plan(left: &Left<'_>) -> Plan {
    let Left { open, messages, calls, abandoned, max_resumes } = *left;
    let of_turn = |message: &&ChatMessage| message.turn == open.turn;
    let has_chat = messages
        .iter()
        .filter(of_turn)
        .any(|message| matches!(message.content, Content::User { .. }));
    let reason = if abandoned == Some(open.turn) {
        Some(Reason::ActorLost)
    } else if !has_chat {
        Some(Reason::NoChat)
    } else {
        (open.resumes >= max_resumes).then_some(Reason::TooOften)
    };
    if let Some(reason) = reason {
        let lost = calls.iter().map(|row| row.call).collect();
        return Plan { lost, turn: Fate::Ends(reason) };
    }
    let goes_on = |row: &&LedgerRow| row.turn == open.turn && row.state != CallState::Running;
    let (mut again, lost): (Vec<_>, Vec<_>) = calls.iter().partition(goes_on);
    again.sort_by_key(|row| row.seq);
    let stops_loop = messages
        .iter()
        .filter(|message| message.turn == open.turn && message.seq >= open.from)
        .any(
            |message| matches!(&message.content, Content::ToolCall(record) if record.stops_loop()),
        );
    Plan {
        lost: lost.into_iter().map(|row| row.call).collect(),
        turn: Fate::GoesOn { again: again.into_iter().map(|row| row.call).collect(), stops_loop },
    }
}
