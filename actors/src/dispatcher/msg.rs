//! What others may ask of the DispatcherActor, and what it tells them.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::{
    ledger::{Proposal, Transition},
    mailbox::{Recipient, Reply},
    port::{LedgerRow, Write},
    protocol::{
        Asker, CallId, CallRecord, CancelReason, ConfirmationEnd, Locale, OnDismiss, Question,
        ResolvedCall, SessionId, Timestamp, ToolCall, TurnId, UserId,
    },
};

/// What others may ask of the [`DispatcherActor`](super::DispatcherActor).
#[derive(Debug)]
pub enum DispatcherMsg {
    /// Bring a call to its end.
    Dispatch {
        /// The call and whose it is.
        request: Arc<DispatchRequest>,
        /// Exactly one `Ended`, `Left` or `Lost` ends it.
        reply: Reply<DispatcherEvent>,
    },
    /// How many calls run.
    RunningCalls {
        /// The number.
        reply: oneshot::Sender<usize>,
    },
}

/// A call, and whose it is.
#[derive(Debug, Clone)]
pub struct DispatchRequest {
    /// The session that asks.
    pub session: SessionId,
    /// Whose data it is about.
    pub user: UserId,
    /// The turn.
    pub turn: TurnId,
    /// The call's place in the transcript.
    pub seq: u64,
    /// The call.
    pub call: ToolCall,
    /// The language of reasons and questions.
    pub locale: Locale,
    /// The user's time zone.
    pub time_zone: Arc<str>,
    /// Whether anybody can be asked.
    pub asker: Asker,
    /// Whether the turn was dismissed or given up.
    pub dismissal: Dismissal,
    /// What handlers are told: nobody waits for them any more, or the runtime ends.
    pub cancelled: CancellationToken,
    /// When it was proposed; where the ledger has it, that says so.
    pub proposed_at: Timestamp,
    /// It is one call too many of its completion, of which so many are taken: it ends as an error and is not run.
    pub beyond: Option<usize>,
    /// Hears of questions.
    pub news: Recipient<DispatcherEvent>,
    /// Hears what the call did after all, where its handler ended after its asker had been told `timeout`.
    pub late: Recipient<ResolvedCall>,
    /// Facts that the ledger's first entry of this call needs and that nobody has written yet: they become durable with
    /// it.
    pub preamble: Vec<Write>,
    /// Where the ledger has the call already; `None` where it may not know it yet.
    pub ledger_row: Option<Box<LedgerRow>>,
    /// Cancelled when a call that has not begun is to be left where it stands, to go on after the next start.
    pub leave: CancellationToken,
    /// What the span of the call is a child of: that of the turn, or the caller's.
    pub span: Span,
}

impl DispatchRequest {
    /// The request behind a call of the ledger that nobody waits for.
    #[must_use]
    pub fn of(row: LedgerRow) -> Self {
        let locale = Locale::default();
        let (ledger_row, proposed_at) = (Some(Box::new(row.clone())), row.proposed_at);
        Self {
            proposed_at,
            beyond: None,
            session: row.session,
            user: row.user,
            turn: row.turn,
            seq: row.seq,
            call: ToolCall { id: row.call, name: row.name, arguments: row.raw_arguments },
            locale,
            time_zone: "UTC".into(),
            asker: Asker::Nobody,
            dismissal: Dismissal::default(),
            cancelled: CancellationToken::new(),
            news: Recipient::nobody(),
            late: Recipient::nobody(),
            preamble: Vec::new(),
            ledger_row,
            leave: CancellationToken::new(),
            span: Span::none(),
        }
    }

    /// The call's first step.
    pub(crate) fn proposal(&self) -> Transition {
        Transition::Proposed(Proposal {
            turn: self.turn,
            seq: self.seq,
            name: self.call.name.clone(),
            arguments: self.call.arguments.clone(),
            user: self.user.clone(),
        })
    }
}

/// Whether a turn was dismissed or given up, and what becomes of its calls.
#[derive(Debug, Clone, Default)]
pub struct Dismissal {
    left: CancellationToken,
    stops: CancellationToken,
    is_behind: bool,
}

impl Dismissal {
    /// Nobody has dismissed the turn. Where `stops` is cancelled, it is given up.
    #[must_use]
    pub fn new(stops: CancellationToken) -> Self {
        Self { stops, ..Self::default() }
    }

    /// The caller, who is also the one who can be asked, leaves with this.
    #[must_use]
    pub fn of_caller(leaves: CancellationToken) -> Self {
        Self { left: leaves.clone(), stops: leaves, is_behind: false }
    }

    /// The user leaves: open questions end, results of handlers that run are discarded, and where the turn is to stop no
    /// other call begins.
    pub fn dismiss(&self, mode: OnDismiss) {
        self.left.cancel();
        if mode == OnDismiss::Stop {
            self.stops.cancel();
        }
    }

    /// The turn is given up: its open questions end, results of handlers that run are discarded, and no other call begins.
    pub fn give_up(&self) {
        self.stops.cancel();
    }

    /// The same for a call that is dispatched now. The result of one that begins behind the dismissal counts: it belongs to
    /// a turn that was to go on.
    #[must_use]
    pub fn from_here(&self) -> Self {
        Self { is_behind: self.left.is_cancelled(), ..self.clone() }
    }

    /// Nobody is there any more who could be asked.
    pub(super) fn is_over(&self) -> bool {
        self.left.is_cancelled() || self.stops.is_cancelled()
    }

    /// Why a call is not run about which nobody can be asked any more: its turn is over, or goes on without its user.
    pub(super) fn reason(&self) -> CancelReason {
        if self.stops() { CancelReason::Withdrawn } else { CancelReason::Dismissed }
    }

    /// Waits until nobody is there any more who could be asked, and says why.
    pub(super) async fn over(&self) -> CancelReason {
        tokio::select! {
            biased;
            () = self.left.cancelled() => {}
            () = self.stops.cancelled() => {}
        }
        if self.left.is_cancelled() { CancelReason::Dismissed } else { CancelReason::Withdrawn }
    }

    /// The result of a handler that ends now is given to nobody.
    pub(super) fn discards(&self) -> bool {
        self.is_over() && !self.is_behind
    }

    /// No call of the turn begins any more.
    pub(super) fn stops(&self) -> bool {
        self.stops.is_cancelled()
    }

    /// Waits until no call of the turn begins any more.
    pub(super) async fn stopped(&self) {
        self.stops.cancelled().await;
    }
}

/// What the DispatcherActor tells its asker.
#[derive(Debug)]
pub enum DispatcherEvent {
    /// A person is asked.
    Asked {
        /// The question.
        question: Box<Question>,
    },
    /// The question is not open any more.
    QuestionEnded {
        /// The call that waited.
        call: CallId,
        /// How.
        end: ConfirmationEnd,
    },
    /// The call ended.
    Ended(CallEnd),
    /// The call had not begun and was left where the ledger has it.
    Left {
        /// The call.
        call: CallId,
    },
    /// The reply was lost: the ledger knows what became of the call.
    Lost {
        /// The call.
        call: CallId,
        /// Its place in the transcript.
        seq: u64,
    },
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallEnd {
    /// Its place in the transcript.
    pub seq: u64,
    /// How it ended. Boxed once, on its way from the ledger to the transcript.
    pub record: Box<CallRecord>,
    /// The store has it. False only while the store cannot be written.
    pub is_recorded: bool,
}
