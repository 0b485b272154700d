//! The errors of the library: [`Error`], which all requests share, and those of builders, turns and
//! shutdown. The errors of models, stores and audits are in their modules:
//! [`ModelError`](crate::model::ModelError), [`StoreError`],
//! [`AuditError`](crate::ledger::AuditError).

use std::{sync::Arc, time::Duration};

use madang_actors::{
    port::{ConnectionType, StoreError},
    protocol::{LimitError, ModelName},
    registry::RegistryError,
    supervisor::StartError,
};

pub use madang_actors::{
    protocol::{
        Bound, DecisionError, InvalidId, InvalidModelName, LimitExceeded, PromptPart, PromptSize,
        Scope, TurnError,
    },
    session::UnknownTimeZone,
};

pub(crate) use madang_actors::session::Error;

/// A reason why a runtime could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A name cannot be that of a model.
    #[error("no model can be named {name:?}: {cause}")]
    ModelName {
        /// The name that was given.
        name: Arc<str>,
        /// Why no model can have it.
        cause: InvalidModelName,
    },
    /// Two models have one name.
    #[error("two models are named {name}; give each a name of its own")]
    SameModelName {
        /// The name of both.
        name: ModelName,
    },
    /// No store was given.
    #[error("a runtime needs a store, and its builder was given none")]
    NoStore,
    /// A limit is too small or too large for any runtime.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Another runtime uses a clone of the store. This runtime would take the calls of that one for
    /// calls that a crash cut off.
    #[error("another runtime uses this store; shut that one down first, or open another store")]
    StoreInUse,
    /// A tool could not be registered.
    #[error("failed to register the tools")]
    Tools(#[from] RegistryError),
    /// A tool needs another kind of connection than the store lends.
    #[error("tool {tool} needs a {needed}, but the store lends a {lent}")]
    OtherConnection {
        /// The name of the tool.
        tool: Arc<str>,
        /// The connection that the tool needs.
        needed: ConnectionType,
        /// The connection that the store lends.
        lent: ConnectionType,
    },
    /// A tool does more than read, but the store keeps no record of effects.
    #[error(
        "tool {tool} does more than read, and this store keeps no record of what tools do; give reading tools only"
    )]
    Writes {
        /// The name of the tool.
        tool: Arc<str>,
    },
    /// The default time zone is unknown.
    #[error(transparent)]
    TimeZone(#[from] UnknownTimeZone),
    /// An actor could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The store could not be read for what an earlier start left open, or could not erase it.
    #[error("failed to read what an earlier start left open")]
    Store(#[source] StoreError),
}

/// A reason why a turn has no text. The ledger has the effects of its tools in any case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The turn ended with an error, after which the session goes on.
    #[error("the turn failed: {text}")]
    Failed {
        /// The cause of the end.
        error: TurnError,
        /// The cause in the turn's language, for a person.
        text: String,
    },
    /// The turn was dismissed.
    #[error("the turn was dismissed")]
    Dismissed,
    /// The turn has ended or goes on, but its text could not be read from the store.
    #[error("the text of the turn could not be read from the store")]
    NotRead,
    /// The store fails, so that the turn cannot go on for now. It goes on after the store answers
    /// again, or after a restart.
    #[error("the turn was interrupted: {text}")]
    Interrupted {
        /// The same in the turn's language, for a person.
        text: String,
    },
    /// The session's actor was lost, or the runtime was shut down and left the turn to the next
    /// start.
    #[error("the session is closed")]
    Closed,
}

/// Returned if a shutdown ran out of time. The remaining work goes on until it is done or the
/// process ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{running} handlers or writes were still running after {waited:?}")]
pub struct ShutdownError {
    /// The number of handlers and writes that still run.
    pub running: usize,
    /// The time that the shutdown waited.
    pub waited: Duration,
}
