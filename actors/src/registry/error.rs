//! The errors of tools outside the dispatcher: duplicate, not found, validation, execution.

use std::{error::Error, fmt, sync::Arc};

use super::Problems;
use crate::{
    port::Need,
    protocol::{EffectPolicy, Fault, SpecError},
};

/// A reason why a tool was not registered. The registry stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Another tool has this name.
    #[error(transparent)]
    Duplicate(#[from] DuplicateTool),
    /// Its description is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Its effect does not fit the connection that its handler is lent.
    #[error(transparent)]
    Effect(#[from] OtherEffect),
    /// The registry was filled before; it stays as it is.
    #[error("the tool registry is already initialised with {count} tools")]
    AlreadyInitialised {
        /// The number of tools that it holds.
        count: usize,
    },
}

/// A tool of this name is registered already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a tool named {name} is already registered")]
pub struct DuplicateTool {
    /// The name that is taken.
    pub name: Arc<str>,
}

/// A transactional tool says that it only reads, or a reading one that it writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool} cannot have the effect {effect:?}: {}", reason(*effect))]
pub struct OtherEffect {
    /// The name of the tool.
    pub tool: Arc<str>,
    /// The effect in its description.
    pub effect: EffectPolicy,
}

const fn reason(effect: EffectPolicy) -> &'static str {
    match effect {
        EffectPolicy::Read => "its handler is lent the transaction, so it writes",
        EffectPolicy::Write | EffectPolicy::Destructive => {
            "its handler is lent a connection that cannot write"
        }
    }
}

/// No tool of this name is registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tool named {name:?} is registered")]
pub struct ToolNotFound {
    /// The name that was asked for.
    pub name: Arc<str>,
}

/// A reason why a call outside the dispatcher has no outcome of the tool's own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The arguments break the schema.
    #[error("failed to validate the arguments")]
    Validation(#[from] Problems),
    /// The tool needs a connection that it was not given.
    #[error(transparent)]
    Connection(#[from] NeedsConnection),
    /// The tool could not be run to its end.
    #[error(transparent)]
    Execution(#[from] Execution),
}

/// A tool was called without the connection that it needs: its handler did not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool} needs a connection to {} ({})", purpose(*need), need.connection())]
pub struct NeedsConnection {
    /// The name of the tool.
    pub tool: Arc<str>,
    /// The connection that it needs.
    pub need: Need,
}

const fn purpose(need: Need) -> &'static str {
    match need {
        Need::Reader(_) => "read",
        Need::Transaction(_) => "write",
    }
}

/// An unexpected end of a handler.
#[derive(thiserror::Error)]
#[error("failed to run the tool {tool}: {}", fault.name())]
pub struct Execution {
    /// The name of the tool.
    pub tool: Arc<str>,
    /// The type of the failure, which is all that a model or a user is told.
    pub fault: Fault,
    /// The error beneath it, for the log.
    #[source]
    pub cause: Option<Box<dyn Error + Send + Sync>>,
}

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("tool", &self.tool)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}
