//! What a store keeps of turns: enough to go on with one that its process left open.

use crate::protocol::{
    Digest, SessionId, TurnEnding, TurnError, TurnId, TurnOptions, Usage, UserId,
};

/// What happens to a turn that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnStep {
    /// A completion asked for tools. Written together with the proposals of all its calls, or with the first step of
    /// its only one. Rounds come in their order, each once.
    Called {
        /// Which round, from 1.
        round: u32,
        /// The place in the transcript of the first of its calls.
        from: u64,
        /// What the turn's completions have cost so far.
        usage: Usage,
    },
    /// The screen was dismissed.
    Dismissed,
    /// It goes on after its process, or its session, was gone.
    Resumed,
    /// It was left open in order, and what it was resumed before counts no more.
    Suspended,
}

/// A turn that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTurn {
    /// The turn.
    pub turn: TurnId,
    /// How it is run.
    pub options: TurnOptions,
    /// The hash of what the user typed.
    pub text: Digest,
    /// Rounds whose completion asked for tools.
    pub round: u32,
    /// The place of the first call of the last of them; 0 before the first.
    pub from: u64,
    /// What its completions have cost until then.
    pub usage: Usage,
    /// The screen was dismissed.
    pub is_dismissed: bool,
    /// How often it was resumed since its last round or its last orderly end.
    pub resumes: u32,
}

/// A session whose turn has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptedSession {
    /// The session.
    pub session: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// The turn.
    pub turn: TurnId,
}

/// A turn that is known by its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedTurn {
    /// The turn.
    pub turn: TurnId,
    /// The hash of what the user typed.
    pub text: Digest,
    /// How it ended, if it has.
    pub end: Option<StoredEnd>,
}

/// How a turn ended, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEnd {
    /// How.
    pub ending: TurnEnding,
    /// Why it failed, if it did.
    pub error: Option<TurnError>,
    /// What it cost.
    pub usage: Usage,
}
