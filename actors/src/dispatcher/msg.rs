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
        Asker, CallId, CallRecord, ConfirmationEnd, Locale, OnDismiss, Question, SessionId,
        SettledCall, ToolCall, TurnId, UserId,
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
    /// Whether the turn was dismissed, and what that means.
    pub dismissal: Dismissal,
    /// What handlers are told: nobody waits for them any more, or the runtime ends.
    pub cancelled: CancellationToken,
    /// Hears of questions.
    pub news: Recipient<DispatcherEvent>,
    /// Hears what the call did after all, where its handler ended after its asker had been told `timeout`.
    pub late: Recipient<SettledCall>,
    /// Facts that the ledger's first entry of this call needs and that nobody has written yet: they become durable with
    /// it.
    pub preamble: Vec<Write>,
    /// Where the ledger has the call already; `None` where it may not know it yet.
    pub standing: Option<Box<LedgerRow>>,
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
        let standing = Some(Box::new(row.clone()));
        Self {
            session: row.session,
            user: row.user,
            turn: row.turn,
            seq: row.seq,
            call: ToolCall { id: row.call, name: row.name, arguments: row.raw_arguments },
            locale,
            time_zone: locale.time_zone().into(),
            asker: Asker::Nobody,
            dismissal: Dismissal::default(),
            cancelled: CancellationToken::new(),
            news: Recipient::nobody(),
            late: Recipient::nobody(),
            preamble: Vec::new(),
            standing,
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

/// Whether a turn was dismissed, and what that means.
#[derive(Debug, Clone, Default)]
pub struct Dismissal {
    /// Cancelled by `dismiss()`, and by nothing else.
    pub token: CancellationToken,
    /// What it means.
    pub mode: OnDismiss,
}

impl Dismissal {
    /// No call of the turn begins any more.
    pub(super) fn stops(&self) -> bool {
        self.mode == OnDismiss::Stop && self.token.is_cancelled()
    }

    /// Waits until no call of the turn begins any more.
    pub(super) async fn stopped(&self) {
        match self.mode {
            OnDismiss::Stop => self.token.cancelled().await,
            OnDismiss::Finish => std::future::pending().await,
        }
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
