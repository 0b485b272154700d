//! Waits for the end of a turn.

use std::time::Duration;

use madang::{
    TurnId,
    error::TurnError,
    event::{EventKind, StreamItem, TurnEnding},
    ledger::CallRecord,
    model::Usage,
    turn::{TurnEvents, append_message},
};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;

use crate::{
    problem::{Problem, ProblemName},
    state::Shared,
};

/// A turn that ended while the request waited.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EndedTurn {
    pub(crate) turn: TurnId,
    pub(crate) status: &'static str,
    pub(crate) ending: TurnEnding,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<FailedTurn>,
    /// The model's messages, with a blank line between two if tools ran between them.
    pub(crate) text: String,
    pub(crate) calls: Vec<CallRecord>,
    pub(crate) usage: Usage,
}

/// Why a turn failed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct FailedTurn {
    #[serde(flatten)]
    pub(crate) error: TurnError,
    /// The error message.
    pub(crate) text: String,
}

/// Whether an answer has the calls of its turn. A turn may have many, and large ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    Given,
    LeftOut,
}

/// Waits for the end of a turn. If the future is dropped, nothing is cancelled.
///
/// # Errors
/// Returns a problem if the turn takes longer, if it outlives this process, or if its events cannot
/// be read.
pub(crate) async fn ended_within(
    shared: &Shared,
    turn: TurnId,
    events: TurnEvents,
    wait: Duration,
    with: Calls,
) -> Result<EndedTurn, Problem> {
    let ended = tokio::select! {
        biased;
        () = shared.drain.leaving.cancelled() => return Err(Problem::draining()),
        ended = timeout(wait, read_to_end(turn, events, with)) => ended,
    };
    ended.map_err(|_| {
        Problem::new(
            ProblemName::StillWaiting,
            "The turn has not ended yet. The same request joins it again.",
        )
    })?
}

async fn read_to_end(
    turn: TurnId,
    mut events: TurnEvents,
    with: Calls,
) -> Result<EndedTurn, Problem> {
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut error = None;
    while let Some(item) = events.next().await {
        if let StreamItem::ReplayFailed = item {
            return Err(Problem::unread());
        }
        let StreamItem::Event(event) = item else { continue };
        if let EventKind::ModelMessage { text: said, .. } = &event.kind {
            append_message(&mut text, said);
        } else if let EventKind::ToolCallEnded { record } = &event.kind {
            calls.extend((with == Calls::Given).then(|| (**record).clone()));
        } else if let EventKind::Error { error: cause, text } = &event.kind {
            error = Some(FailedTurn { error: cause.clone(), text: text.clone() });
        } else if let EventKind::TurnEnded { ending, usage } = event.kind {
            return Ok(EndedTurn { turn, status: "ended", ending, error, text, calls, usage });
        }
    }
    // The runtime left the turn to its next start.
    Err(Problem::draining())
}
