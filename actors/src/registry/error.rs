//! The errors of the registry: a tool that cannot be added, and one that does not exist.

use std::sync::Arc;

use crate::protocol::{EffectPolicy, SpecError};

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
    /// Its effect does not fit the connection that its handler borrows.
    #[error(transparent)]
    Effect(#[from] OtherEffect),
}

/// A tool of this name is registered already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a tool named {name} is already registered")]
pub struct DuplicateTool {
    /// The name that is taken.
    pub name: Arc<str>,
}

/// A transactional tool is described as one that only reads, or a reading one as one that writes.
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
