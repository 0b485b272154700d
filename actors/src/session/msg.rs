//! What others may ask of a SessionActor, and what it answers.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::state::Resumption;
use crate::{
    admission::Permit,
    dispatcher::DispatcherEvent,
    llm::LlmEvent,
    port::{StoreError, SubmittedTurn, Write},
    protocol::{
        ChatMessage, LimitExceeded, Question, ResolvedCall, SessionId, Timestamp, TurnEnding,
        TurnError, TurnId, TurnOptions, Usage,
    },
};

/// What others may ask of a [`SessionActor`](super::SessionActor).
#[derive(Debug)]
pub enum SessionMsg {
    /// Begin a turn, or hear of the one that was submitted under the same key.
    Ask {
        /// What the user typed.
        text: Arc<str>,
        /// How the turn is run.
        options: TurnOptions,
        /// The bytes of the text, until it is stored or refused.
        bytes: Permit,
        /// Hears, once the user's message is stored, which turn began.
        began: oneshot::Sender<Result<TurnId, TurnRefused>>,
        /// Hears how the turn ended.
        ended: oneshot::Sender<TurnEnd>,
    },
    /// Hear of the turn that runs.
    Attach {
        /// Hears how it ended, if one runs.
        ended: oneshot::Sender<TurnEnd>,
        /// Hears which one runs.
        reply: oneshot::Sender<Result<Option<TurnId>, LimitExceeded>>,
    },
    /// Dismiss the turn that runs, as its options say. Without one, nothing happens.
    Dismiss {
        /// Hears that the turn is dismissed, before anything that was running has ended, and where to hear that the store
        /// has the dismissal.
        reply: oneshot::Sender<Result<DismissalStored, DismissError>>,
    },
    /// Clear the chat: state and model begin after a mark.
    Clear {
        /// Hears once the mark is stored.
        reply: oneshot::Sender<Result<(), ClearError>>,
    },
    /// What a screen shows.
    State {
        /// The state.
        reply: oneshot::Sender<Result<SessionView, LimitExceeded>>,
    },
    /// The runtime shuts down: leave the turn that runs to the next start, begin no other, and end.
    Close {
        /// Hears when nothing of the turn runs any more.
        reply: oneshot::Sender<()>,
    },
    /// Go on with the turn that was left open. Comes before all else.
    Resume(Box<Resumption>),
    /// The store was asked for the turn of a key.
    Submitted {
        /// Who submits.
        asked: Box<Asked>,
        /// What the store says.
        found: Result<Option<SubmittedTurn>, StoreError>,
        /// How many turns had begun before it was asked.
        turns_begun: u64,
    },
    /// A write of the session's own came back.
    Stored {
        /// What was written.
        written: Outgoing,
        /// Whether it was.
        result: Result<(), StoreError>,
    },
    /// The model's news.
    Llm(LlmEvent),
    /// The dispatcher's news.
    Dispatcher(DispatcherEvent),
    /// The store knows now what a call did whose effect was unknown.
    Resolved(ResolvedCall),
    /// The time after which the session may sleep has passed.
    Idle,
    /// Others want its place: sleep now, if nothing is going on.
    Sleep {
        /// Hears when it sleeps, or that it does not.
        reply: oneshot::Sender<()>,
    },
}

/// A wish for a turn.
#[derive(Debug)]
pub struct Asked {
    pub(super) text: Arc<str>,
    pub(super) options: TurnOptions,
    pub(super) bytes: Permit,
    pub(super) began: oneshot::Sender<Result<TurnId, TurnRefused>>,
    pub(super) ended: oneshot::Sender<TurnEnd>,
}

/// What a session has given to the store and not yet shown.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Entries of the transcript.
    pub(super) messages: Vec<ChatMessage>,
    /// The turn ends with it, and when.
    pub(super) end: Option<Box<(TurnEnd, Timestamp)>>,
    /// Whoever asked for the clearing.
    pub(super) clear: Option<oneshot::Sender<Result<(), ClearError>>>,
    /// The callers that dismissed the turn, where that is among what is written.
    pub(super) dismissed: Vec<oneshot::Sender<Result<(), StoreError>>>,
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

/// Why a turn did not begin. The state is unchanged, but for [`Closed`](Self::Closed), and for a [`Store`](Self::Store)
/// whose cause [may have happened](StoreError::may_have_happened) all the same. Only the store knows then: the session
/// tells which turn runs, and a repeated submit under the same idempotency key finds the turn that is there.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TurnRefused {
    /// The text is empty after trimming: nothing happens.
    #[error("the text is empty")]
    Empty,
    /// A turn is running.
    #[error("a turn is running")]
    Busy,
    /// The text is too long.
    #[error("the text has {bytes} bytes, {max_bytes} are allowed")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max_bytes: usize,
    },
    /// No time zone has this name.
    #[error("no time zone is named {name:?}")]
    UnknownTimeZone {
        /// The name.
        name: Arc<str>,
    },
    /// Another text was submitted under the same idempotency key.
    #[error("the idempotency key was used for another text")]
    OtherText,
    /// A bound was reached.
    #[error("a bound was reached")]
    Overloaded(#[source] LimitExceeded),
    /// The user's message could not be stored.
    #[error("failed to store the user's message")]
    Store(#[source] StoreError),
    /// The session's actor died, or the runtime has shut down.
    #[error("the session is closed")]
    Closed,
}

/// Hears once that the store has a dismissal, or why not.
pub type DismissalStored = oneshot::Receiver<Result<(), StoreError>>;

/// Why nothing was dismissed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DismissError {
    /// No turn is running.
    #[error("no turn is running")]
    NoTurn,
    /// The session's actor died, or the runtime has shut down.
    #[error("the session is closed")]
    Closed,
}

/// Why the chat was not cleared.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ClearError {
    /// A turn is running.
    #[error("a turn is running")]
    Busy,
    /// A bound was reached.
    #[error("a bound was reached")]
    Overloaded(#[source] LimitExceeded),
    /// The mark could not be stored.
    #[error("failed to store the clearing")]
    Store(#[source] StoreError),
    /// The session's actor died, or the runtime has shut down.
    #[error("the session is closed")]
    Closed,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The turn.
    pub turn: TurnId,
    /// How.
    pub ending: TurnEnding,
    /// Why it failed, if it did.
    pub error: Option<TurnError>,
    /// What its completions cost in all.
    pub usage: Usage,
}

impl TurnEnd {
    pub(super) fn write(&self, session: &SessionId, at: Timestamp, behind: u64) -> Write {
        Write::TurnEnded {
            session: session.clone(),
            turn: self.turn,
            at,
            behind,
            ending: self.ending,
            error: self.error.clone(),
            usage: self.usage,
        }
    }
}

/// What a screen shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionView {
    /// The entries since the last clearing, in order.
    pub messages: Vec<ChatMessage>,
    /// The model is answering: the input is disabled.
    pub is_streaming: bool,
    /// The text so far; empty at the start and between rounds, `None` at every end.
    pub streaming_text: Option<String>,
    /// The last error in the words of the session's language; `None` is well.
    pub error: Option<String>,
    /// Who is asked for what.
    pub question: Option<Question>,
}
