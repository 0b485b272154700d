//! What a store keeps of turns: enough to continue a turn that a crash cut off.

use crate::protocol::{
    Digest, SessionId, TurnEnding, TurnError, TurnId, TurnOptions, Usage, UserId,
};

/// A step of a turn that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnStep {
    /// A completion asked for tools. It is written together with the proposals of all its calls, or
    /// with the first step of its only one. Rounds come in their order, each once.
    Called {
        /// The number of the round, from 1.
        round: u32,
        /// The number in the transcript of the first of its calls.
        from: u64,
        /// The cost of the turn's completions so far.
        usage: Usage,
    },
    /// The user dismissed the turn.
    Dismissed,
    /// The turn continues after the end of its process or the loss of its session.
    Resumed,
    /// The runtime shut down gracefully and left the turn open. Earlier resumptions are no longer
    /// counted.
    Suspended,
}

/// A turn that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTurn {
    /// The id of the turn.
    pub turn: TurnId,
    /// The options that it runs with.
    pub options: TurnOptions,
    /// The hash of what the user typed.
    pub text: Digest,
    /// The number of rounds whose completion asked for tools.
    pub round: u32,
    /// The number in the transcript of the first call of the last round. It is 0 before the first.
    pub from: u64,
    /// The cost of its completions so far.
    pub usage: Usage,
    /// Whether the user dismissed the turn.
    pub is_dismissed: bool,
    /// The number of resumptions since its last round or its last orderly end.
    pub resumes: u32,
}

/// A session whose turn has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptedSession {
    /// The id of the session.
    pub session: SessionId,
    /// The user whose session it is.
    pub user: UserId,
    /// The turn that was cut off.
    pub turn: TurnId,
}

/// A turn that was found by its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedTurn {
    /// The id of the turn.
    pub turn: TurnId,
    /// The hash of what the user typed.
    pub text: Digest,
    /// The end of the turn, if it has one.
    pub end: Option<StoredEnd>,
}

/// A turn of a session, whether it is open or has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTurn {
    /// The lowest number of its entries in the transcript, including calls that have not ended. It
    /// is 0 if there is none.
    pub first: u64,
    /// The entry after which it ended, and how. `None` while it is open.
    pub end: Option<(u64, StoredEnd)>,
}

/// The end of a turn, as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEnd {
    /// How the turn ended.
    pub ending: TurnEnding,
    /// Why it failed, if it did.
    pub error: Option<TurnError>,
    /// The cost of its completions.
    pub usage: Usage,
}
