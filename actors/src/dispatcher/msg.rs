//! The messages of the DispatcherActor, and the events that it sends.

use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::Span;

use super::Cancellation;
use crate::{
    ledger::{Proposal, Transition},
    mailbox::{Recipient, Reply},
    port::{LedgerRow, Write},
    protocol::{
        ApprovalEnd, ApprovalRequest, Asks, CallId, CallRecord, Locale, ResolvedCall, SessionId,
        Timestamp, ToolCall, ToolProgress, TurnId, UserId,
    },
};

/// A message for the [`DispatcherActor`](super::DispatcherActor).
#[derive(Debug)]
pub enum DispatcherMsg {
    /// Brings a call to its end.
    Dispatch {
        /// The call with its session and user.
        request: Arc<DispatchRequest>,
        /// Receives exactly one `Ended`, `Left` or `Lost`, which ends the call.
        reply: Reply<DispatcherEvent>,
    },
    /// Counts the running calls.
    RunningCalls {
        /// Receives the number.
        reply: oneshot::Sender<usize>,
    },
}

/// A call, with its session, turn and user.
#[derive(Debug, Clone)]
pub struct DispatchRequest {
    /// The session that asks.
    pub session: SessionId,
    /// The user whose data the call is about.
    pub user: UserId,
    /// The turn in which the model asked.
    pub turn: TurnId,
    /// The number of the call in the transcript.
    pub seq: u64,
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// The language of reasons and approval requests.
    pub locale: Locale,
    /// The user's time zone.
    pub time_zone: Arc<str>,
    /// Who is asked if its tool needs an approval.
    pub asks: Asks,
    /// Cancels the call, with its turn or its caller or the runtime.
    pub cancellation: Cancellation,
    /// The moment of the proposal, as the ledger states it if it has the proposal.
    pub proposed_at: Timestamp,
    /// The call is one too many of its completion, of which this many are taken. It ends as an
    /// error and does not run.
    pub beyond: Option<usize>,
    /// Receives the events of approval requests.
    pub news: Recipient<DispatcherEvent>,
    /// Receives the handler's reports of progress.
    pub progress: Recipient<ToolProgress>,
    /// Receives the call's effect, if its handler ended after its caller had received `timeout`.
    pub late: Recipient<ResolvedCall>,
    /// Facts that must be durable before this call's first entry and are not yet written. They
    /// become durable with it.
    pub preamble: Vec<Write>,
    /// The call's row, if the ledger has it already. `None` if it may not have it yet.
    pub ledger_row: Option<Box<LedgerRow>>,
    /// The parent span of the call: that of the turn, or the caller's.
    pub span: Span,
}

impl DispatchRequest {
    /// Makes the request for a call of the ledger without a waiting turn.
    #[must_use]
    pub fn of(row: LedgerRow) -> Self {
        Self {
            proposed_at: row.proposed_at,
            beyond: None,
            session: row.session.clone(),
            user: row.user.clone(),
            turn: row.turn,
            seq: row.seq,
            call: row.tool_call(),
            locale: Locale::default(),
            time_zone: "UTC".into(),
            asks: Asks::Nobody,
            cancellation: Cancellation::default(),
            news: Recipient::discard(),
            progress: Recipient::discard(),
            late: Recipient::discard(),
            preamble: Vec::new(),
            ledger_row: Some(Box::new(row)),
            span: Span::none(),
        }
    }

    /// Makes the call's first step.
    pub(crate) fn proposal(&self) -> Transition {
        Transition::Proposed(Proposal {
            turn: self.turn,
            seq: self.seq,
            name: self.call.name.clone(),
            arguments: self.call.arguments.clone(),
            model: self.call.model.clone(),
            opaque: self.call.opaque.clone(),
            user: self.user.clone(),
        })
    }
}

/// An event that the DispatcherActor sends to its caller.
#[derive(Debug)]
pub enum DispatcherEvent {
    /// A person is asked.
    ApprovalRequested {
        /// The request as it is shown.
        request: Box<ApprovalRequest>,
    },
    /// The request is closed.
    ApprovalEnded {
        /// The call of the request.
        call: CallId,
        /// How the request ended.
        end: ApprovalEnd,
    },
    /// The call ended, with its outcome.
    Ended(CallEnd),
    /// The call had not begun, and stays as it is in the ledger.
    Left {
        /// The call that was left.
        call: CallId,
    },
    /// The reply was lost. The ledger shows what became of the call.
    Lost {
        /// The call whose reply was lost.
        call: CallId,
        /// The number of the call in the transcript.
        seq: u64,
    },
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallEnd {
    /// The number of the call in the transcript.
    pub seq: u64,
    /// What became of the call. Boxed once, on its way from the ledger to the transcript.
    pub record: Box<CallRecord>,
    /// Whether the store has it. It is false only while the store cannot be written.
    pub is_recorded: bool,
}
