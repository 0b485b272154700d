//! What becomes known of a call whose effect was unknown.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CallId, Effect, UserId};

/// What an unknown effect turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EffectResolution {
    /// The call took effect.
    #[serde(rename = "committed")]
    TookEffect,
    /// It did not.
    #[serde(rename = "none")]
    DidNot,
}

impl EffectResolution {
    /// The effect that is known now.
    #[must_use]
    pub const fn effect(self) -> Effect {
        match self {
            Self::TookEffect => Effect::Committed,
            Self::DidNot => Effect::None,
        }
    }

    /// What this effect resolves; `None` where it is unknown still.
    #[must_use]
    pub const fn of(effect: Effect) -> Option<Self> {
        match effect {
            Effect::Committed => Some(Self::TookEffect),
            Effect::None => Some(Self::DidNot),
            Effect::Unknown => None,
        }
    }
}

/// Who found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ResolvedBy {
    /// The call's own handler: it came to its end after its asker had been told `timeout`.
    Handler,
    /// The call's user, who has looked.
    Person {
        /// Who.
        user: UserId,
    },
}

/// A call whose effect was unknown and is known now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedCall {
    /// The call.
    pub call: CallId,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// What it turned out to be.
    #[serde(rename = "effect")]
    pub resolution: EffectResolution,
    /// Who found out.
    #[serde(rename = "resolved_by")]
    pub by: ResolvedBy,
}
