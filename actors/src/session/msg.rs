//! The messages of a SessionActor, and what it knows of its own writes.

use tokio::sync::oneshot;

use super::{
    error::Error,
    request::{SessionRequest, TurnEnd, TurnRequest},
};
use crate::{
    admission::Permit,
    dispatcher::DispatcherEvent,
    llm::LlmEvent,
    port::{LedgerRow, OpenTurn, StoreError, SubmittedTurn},
    protocol::{ChatMessage, LanguageTag, Timestamp, TurnId},
};

/// A message for a [`SessionActor`](super::SessionActor).
#[derive(Debug)]
pub enum SessionMsg {
    /// A request that came through the session's slot.
    Request(SessionRequest),
    /// The runtime shuts down. The session leaves its turn to the next start, begins no other, and
    /// ends.
    Close {
        /// Receives an answer when no part of the turn runs any more.
        reply: oneshot::Sender<()>,
    },
    /// Brings the permit for which a turn that goes on has waited.
    Room {
        /// The turn that waits.
        turn: TurnId,
        /// Its permit among the running turns.
        permit: Permit,
    },
    /// Brings the store's answer about the turn of a key.
    LookedUp {
        /// The submit that asked.
        asked: Box<TurnRequest>,
        /// The answer of the store.
        found: Result<Option<SubmittedTurn>, StoreError>,
        /// The number of turns that had begun before the store was asked.
        turns_begun: u64,
    },
    /// Brings the end of one of the session's own writes.
    Stored {
        /// The parts that were written.
        written: Outgoing,
        /// Whether the store has them.
        result: Result<(), StoreError>,
    },
    /// Brings an event of the model.
    Llm(LlmEvent),
    /// Brings an event of the dispatcher.
    Dispatcher(DispatcherEvent),
    /// The time after which the session may sleep has passed.
    Idle,
    /// Asks the session to sleep now, if it is idle, because another needs its permit.
    Sleep {
        /// Receives an answer when it sleeps, or does not.
        reply: oneshot::Sender<()>,
    },
}

/// A turn that was left open and goes on.
#[derive(Debug)]
pub struct Resumption {
    pub(super) open: OpenTurn,
    /// The calls of its last round that are dispatched again, in order.
    pub(super) calls: Vec<LedgerRow>,
    pub(super) stops_loop: bool,
    /// Whether nothing of it begins before a person has decided.
    pub(super) waits: bool,
    /// Its permit among the running turns. `None` if it has to wait for room.
    pub(super) permit: Option<Permit>,
}

/// A write that the session has sent to the store.
#[derive(Debug)]
pub struct Outgoing {
    pub(super) purpose: Purpose,
    /// The entries of the transcript in it, which are published after it.
    pub(super) messages: Vec<ChatMessage>,
}

/// What a write is for, and so what follows it.
#[derive(Debug)]
pub(super) enum Purpose {
    /// Begins a turn.
    Begin(TurnId),
    /// Records the calls of this round of a turn, which begin after it.
    Round(TurnId, u32),
    /// Counts the resumption of a turn, which goes on after it.
    Resume(TurnId),
    /// Dismisses a turn. These callers wait for that.
    Dismiss(TurnId, Vec<oneshot::Sender<Result<(), StoreError>>>),
    /// Leaves a turn to a later start.
    Suspend(TurnId),
    /// Ends a turn at this moment.
    End(Box<(TurnEnd, Timestamp)>),
    /// Clears the chat for this caller.
    Clear(oneshot::Sender<Result<(), Error>>),
    /// Begins the chat with a history.
    Import(Box<PendingImport>),
}

impl Purpose {
    /// Returns the turn that the write is about, which may be over when the write comes back. No
    /// turn begins during a clearing or an import.
    pub(super) fn turn(&self) -> Option<TurnId> {
        match self {
            Self::Begin(turn)
            | Self::Round(turn, _)
            | Self::Resume(turn)
            | Self::Dismiss(turn, _)
            | Self::Suspend(turn) => Some(*turn),
            Self::End(end) => Some(end.0.turn),
            Self::Clear(_) | Self::Import(_) => None,
        }
    }
}

impl Outgoing {
    /// Makes a write without entries.
    pub(super) const fn new(purpose: Purpose) -> Self {
        Self { purpose, messages: Vec::new() }
    }
}

/// An import that is on its way to the store.
#[derive(Debug)]
pub(super) struct PendingImport {
    /// The end of its turn, which is written with it.
    pub(super) end: TurnEnd,
    pub(super) at: Timestamp,
    /// The language of its notice.
    pub(super) language: Option<LanguageTag>,
    /// The permit for its bytes, until it is stored or refused.
    pub(super) _bytes: Permit,
    pub(super) reply: oneshot::Sender<Result<TurnId, Error>>,
}

impl From<LlmEvent> for SessionMsg {
    fn from(event: LlmEvent) -> Self {
        Self::Llm(event)
    }
}

impl From<DispatcherEvent> for SessionMsg {
    fn from(event: DispatcherEvent) -> Self {
        Self::Dispatcher(event)
    }
}
