//! The requests that reach a session through its slot, and its answers.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{error::Error, view::ViewPage};
use crate::{
    admission::Permit,
    ledger::text_digest,
    mailbox::answer,
    port::{StoreError, Write},
    protocol::{
        ApprovalRequest, ChatMessage, EventCursor, FeedCursor, Imported, LanguageTag, SessionId,
        Timestamp, TurnEnding, TurnError, TurnId, TurnOptions, Usage,
    },
};

/// A request to a session. The slot counts those that its actor has not taken yet, and keeps them
/// while the session wakes.
#[derive(Debug)]
pub enum SessionRequest {
    /// Begins a turn, or finds the one that was submitted under the same key.
    Submit(TurnRequest),
    /// Asks for the running turn.
    Attach {
        /// Receives how it ended, if one runs.
        ended: oneshot::Sender<TurnEnd>,
        /// Receives which turn runs.
        reply: oneshot::Sender<Result<Option<TurnId>, Error>>,
    },
    /// Dismisses the running turn, as its options say. Without one, it changes nothing.
    Dismiss {
        /// The only turn that is dismissed, and when; `None` for any that runs.
        only: Option<(TurnId, When)>,
        /// Receives an answer before any running work has ended, with the receiver of what the
        /// store says to the dismissal.
        reply: oneshot::Sender<Result<DismissalStored, Error>>,
    },
    /// Clears the chat: view and prompt begin after a mark.
    Clear {
        /// Receives an answer once the mark is stored.
        reply: oneshot::Sender<Result<(), Error>>,
    },
    /// Begins the chat with a history.
    Import {
        /// The messages, in order.
        messages: Vec<Imported>,
        /// The language of the notice that they come from another chat, if they do. There may then be
        /// no message.
        fork: Option<LanguageTag>,
        /// The permit for the bytes of the messages, until they are stored or refused.
        bytes: Permit,
        /// Receives the turn of the messages once they are stored.
        reply: oneshot::Sender<Result<TurnId, Error>>,
    },
    /// Asks for the view of a screen.
    State {
        /// The entries that the view has.
        page: ViewPage,
        /// Receives the view.
        reply: oneshot::Sender<Result<SessionView, Error>>,
    },
    /// Asks how far a running turn is.
    Turn {
        /// The id of the turn.
        turn: TurnId,
        /// Receives how far it is; `None` if it does not run.
        reply: oneshot::Sender<Result<Option<RunningTurn>, Error>>,
    },
    /// Lets the turn with which the session woke go on, after the requests that waited for the
    /// waking.
    Resume {
        /// Whether nothing of it begins before a person has decided.
        waits: bool,
    },
    /// Takes the resolutions of unknown effects that the feed has published.
    TakeResolved,
}

impl SessionRequest {
    /// Answers it with this reason why the session does not take it.
    pub(super) fn refuse(self, error: Error) {
        match self {
            Self::Submit(TurnRequest { began: reply, .. }) | Self::Import { reply, .. } => {
                answer(reply, Err(error));
            }
            Self::Attach { reply, .. } => answer(reply, Err(error)),
            Self::Dismiss { reply, .. } => answer(reply, Err(error)),
            Self::Clear { reply } => answer(reply, Err(error)),
            Self::State { reply, .. } => answer(reply, Err(error)),
            Self::Turn { reply, .. } => answer(reply, Err(error)),
            // The session wakes for these again.
            Self::Resume { .. } | Self::TakeResolved => {}
        }
    }
}

/// A request for a turn.
#[derive(Debug)]
pub struct TurnRequest {
    /// The text as the user typed it.
    pub text: Arc<str>,
    /// The options of the turn.
    pub options: TurnOptions,
    /// The permit for the bytes of the text, until it is stored or refused.
    pub bytes: Permit,
    /// Receives the id of the turn, after the user's message is stored.
    pub began: oneshot::Sender<Result<TurnId, Error>>,
    /// Receives the end of the turn.
    pub ended: oneshot::Sender<TurnEnd>,
}

/// Receives one message: that the store has a dismissal, or why it does not.
pub type DismissalStored = oneshot::Receiver<Result<(), StoreError>>;

/// The condition of a dismissal of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Whenever the turn runs.
    Any,
    /// Only while its approval request waits for a person. If a person has already decided, the
    /// turn goes on.
    Waits,
}

/// How far a running turn is.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTurn {
    /// The cursor of the last event of it that was published.
    pub last: EventCursor,
    /// The approval request that waits for the user.
    pub approval_request: Option<ApprovalRequest>,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The turn that ended.
    pub turn: TurnId,
    /// How the turn ended.
    pub ending: TurnEnding,
    /// Why it failed, if it did.
    pub error: Option<TurnError>,
    /// The cost of all its completions.
    pub usage: Usage,
}

impl TurnEnd {
    /// Makes the end of a turn in which no model is asked.
    #[must_use]
    pub fn without_model(turn: TurnId) -> Self {
        Self { turn, ending: TurnEnding::Answered, error: None, usage: Usage::default() }
    }

    /// Makes the facts of a turn that is over from the beginning, so that it does not go on after a
    /// crash. Its texts are in this language, and its last entry has the number `behind`.
    #[must_use]
    pub fn whole_turn(
        &self,
        session: &SessionId,
        at: Timestamp,
        behind: u64,
        language: Option<LanguageTag>,
        max_stored_bytes: u64,
    ) -> [Write; 2] {
        let started = Write::TurnStarted {
            session: session.clone(),
            turn: self.turn,
            at,
            options: TurnOptions { language, ..TurnOptions::default() },
            text: text_digest(""),
            max_stored_bytes,
        };
        [started, self.write(session, at, behind)]
    }

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

/// The view of a chat for a screen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionView {
    /// The entries since the last clearing, in order, as many as were asked for.
    pub messages: Vec<ChatMessage>,
    /// The number of the first of these entries, if there are earlier ones that are left out.
    pub earlier: Option<u64>,
    /// The position of the view: it has what was published up to here, and nothing after. A screen
    /// that draws the view and then subscribes from this position misses nothing and reads nothing
    /// twice.
    pub cursor: FeedCursor,
    /// The turn that has begun and not ended.
    pub turn: Option<TurnId>,
    /// Whether the model is answering. The screen disables its input then.
    pub is_streaming: bool,
    /// The streamed text so far. It is empty at the start and between rounds, and `None` at every
    /// end.
    pub streaming_text: Option<String>,
    /// The last error in the words of the session's language. `None` if there is none.
    pub error: Option<String>,
    /// The approval request that waits for the user.
    pub approval_request: Option<ApprovalRequest>,
}
