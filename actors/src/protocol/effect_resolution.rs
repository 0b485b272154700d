//! The effect of a call, and the resolution of one that is unknown.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{CallId, UserId};

/// The effect of a call on the world, as far as the ledger knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Effect {
    /// The call did not run, only read, or was undone.
    None,
    /// The call took effect.
    Committed,
    /// The call may have taken effect. Nobody knows yet.
    Unknown,
}

/// What an unknown effect turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EffectResolution {
    /// The call took effect.
    #[serde(rename = "committed")]
    TookEffect,
    /// The call did not take effect.
    #[serde(rename = "none")]
    DidNot,
}

impl EffectResolution {
    /// Returns the effect that is known now.
    #[must_use]
    pub const fn effect(self) -> Effect {
        match self {
            Self::TookEffect => Effect::Committed,
            Self::DidNot => Effect::None,
        }
    }

    /// Returns the resolution for this effect, or `None` if it is still unknown.
    #[must_use]
    pub const fn of(effect: Effect) -> Option<Self> {
        match effect {
            Effect::Committed => Some(Self::TookEffect),
            Effect::None => Some(Self::DidNot),
            Effect::Unknown => None,
        }
    }
}

/// The source of a resolution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResolvedBy {
    /// The call's own handler, which ended after its caller had received `timeout`.
    Handler,
    /// The call's user, who looked.
    Person {
        /// The user that has looked.
        user: UserId,
    },
}

/// A call whose effect was unknown and is known now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResolvedCall {
    /// The id of the call.
    pub call: CallId,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// The effect that it turned out to have.
    #[serde(rename = "effect")]
    pub resolution: EffectResolution,
    /// The handler or person that found out.
    #[serde(rename = "resolved_by")]
    pub by: ResolvedBy,
}
