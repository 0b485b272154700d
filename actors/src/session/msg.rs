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
    mailbox::answer,
    port::{LedgerRow, OpenTurn, StoreError, SubmittedTurn},
    protocol::{ChatMessage, Timestamp, TurnId},
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
    Submitted {
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

/// The parts of a write that the session has sent to the store and not yet published.
#[derive(Debug)]
pub struct Outgoing {
    /// What the write is about: its failure is a matter of that alone.
    pub(super) about: About,
    /// The entries of the transcript.
    pub(super) messages: Vec<ChatMessage>,
    /// The end of the turn, and its moment.
    pub(super) end: Option<Box<(TurnEnd, Timestamp)>>,
    /// The caller that asked for the clearing.
    pub(super) clear: Option<oneshot::Sender<Result<(), Error>>>,
    /// The import that the write is.
    pub(super) import: Option<Box<PendingImport>>,
    /// Whether the write counts the resumption of the turn, which begins after it.
    pub(super) resumed: bool,
    /// Whether the write records the calls of a round, which begin after it.
    pub(super) called: bool,
    /// The callers that dismissed the turn, if the write has the dismissal.
    pub(super) dismissed: Vec<oneshot::Sender<Result<(), StoreError>>>,
}

/// What a write of a session is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// A turn, which may be over when the write comes back.
    Turn(TurnId),
    /// The chat: a clearing or an import, during which no turn begins.
    Chat,
}

impl Outgoing {
    /// Makes a write about this, of which nothing is to be published yet.
    pub(super) const fn about(about: About) -> Self {
        Self {
            about,
            messages: Vec::new(),
            end: None,
            clear: None,
            import: None,
            resumed: false,
            called: false,
            dismissed: Vec::new(),
        }
    }

    /// Makes a write about a turn, of which nothing is to be published yet.
    pub(super) const fn of(turn: TurnId) -> Self {
        Self::about(About::Turn(turn))
    }
}

/// An import that is on its way to the store.
#[derive(Debug)]
pub(super) struct PendingImport {
    /// The end of its turn, which is written with it.
    pub(super) end: TurnEnd,
    pub(super) at: Timestamp,
    /// The permit for its bytes, until it is stored or refused.
    pub(super) _bytes: Permit,
    pub(super) reply: oneshot::Sender<Result<TurnId, Error>>,
}

impl PendingImport {
    /// Answers the caller with the reason why nothing was imported, as far as it is known.
    pub(super) fn fail(self, cause: Error) {
        answer(self.reply, Err(cause));
    }
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
