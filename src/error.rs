//! What can go wrong, one type for each thing that is asked for. Errors of models, stores and audits stand with those:
//! [`ModelError`](crate::model::ModelError), [`StoreError`], [`AuditError`](crate::ledger::AuditError).

use std::{sync::Arc, time::Duration};

use madang_actors::{
    port::{ConnectionType, StoreError},
    protocol::{LimitError, SessionId},
    registry::RegistryError,
    supervisor::StartError,
};

pub use madang_actors::{
    protocol::{AnswerError, Bound, InvalidId, LimitExceeded, Scope, TurnError},
    session::{ClearError, DismissError, ResolveError, TurnRefused},
};

pub use crate::time_zone::UnknownTimeZone;

/// Why a runtime could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No model was given.
    #[error("a runtime needs a model: call `Builder::model`")]
    NoModel,
    /// No store was given.
    #[error("a runtime needs a store: call `Builder::store`")]
    NoStore,
    /// A limit is too small or too large for any runtime.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Another runtime has a clone of the store, and would have its calls taken for what a crash cut off.
    #[error("another runtime uses this store; shut that one down first, or open another store")]
    StoreInUse,
    /// A tool could not be registered.
    #[error("failed to register the tools")]
    Tools(#[from] RegistryError),
    /// A tool needs another kind of connection than the store lends.
    #[error("tool {tool} needs a {needed}, but the store lends a {lent}")]
    OtherConnection {
        /// The tool.
        tool: Arc<str>,
        /// What it needs.
        needed: ConnectionType,
        /// What the store lends.
        lent: ConnectionType,
    },
    /// A tool does something, over a store that keeps no record of it.
    #[error(
        "tool {tool} does more than read, and this store keeps no record of what tools do; give reading tools only"
    )]
    Writes {
        /// The tool.
        tool: Arc<str>,
    },
    /// The time zone of all is not known.
    #[error(transparent)]
    TimeZone(#[from] UnknownTimeZone),
    /// An actor could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// What an earlier start left open could not be read.
    #[error("failed to read what an earlier start left open")]
    Store(#[source] StoreError),
}

/// Why a session could not be opened or reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The id of the session or user cannot be used.
    #[error(transparent)]
    Id(#[from] InvalidId),
    /// The session belongs to another user.
    #[error("session {0} belongs to another user")]
    Foreign(SessionId),
    /// Something of the session has not ended: a turn, or another call without a model. Or it is awake with a chat that only
    /// memory has, and cannot be put to sleep.
    #[error("session {0} is busy")]
    Busy(SessionId),
    /// The time zone of the call or its user is not known.
    #[error(transparent)]
    TimeZone(#[from] UnknownTimeZone),
    /// The store could not be written or read.
    #[error("failed to reach the store of session {session}")]
    Store {
        /// The session.
        session: SessionId,
        /// The cause.
        #[source]
        cause: StoreError,
    },
    /// A bound was reached.
    #[error("a bound was reached")]
    Overloaded(#[source] LimitExceeded),
    /// The session's actor died, or the runtime has shut down.
    #[error("the session is closed")]
    Closed,
}

/// Why a turn has no text. What its tools did stands in the ledger all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The turn ended with an error, after which the session goes on.
    #[error("the turn failed: {text}")]
    Failed {
        /// What went wrong.
        error: TurnError,
        /// The same in the turn's language, for a person.
        text: String,
    },
    /// The turn was dismissed.
    #[error("the turn was dismissed")]
    Dismissed,
    /// The turn has ended, or goes on, but its text could not be read from the store.
    #[error("the text of the turn could not be read from the store")]
    NotRead,
    /// The session's actor died, or the runtime was shut down and left the turn to the next start.
    #[error("the session is closed")]
    Closed,
}

/// Why a shutdown did not come to its end. What still runs goes on until the process ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{running} handlers or writes were still running after {waited:?}")]
pub struct ShutdownError {
    /// How many.
    pub running: usize,
    /// How long it waited.
    pub waited: Duration,
}
