//! The messages with which an imported chat begins: a history that was kept elsewhere.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Content, Ending, EntryOrigin};

/// A message of a history that was kept elsewhere. It is only text: whatever it says, no call,
/// approval or notice results from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
    /// The side that said it.
    pub role: ImportedRole,
    /// The text as it was said.
    pub text: Arc<str>,
}

/// The side of a chat that said an imported message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ImportedRole {
    /// The user.
    User,
    /// A model, not necessarily that of the runtime.
    Model,
}

impl Imported {
    /// Makes a message of the user.
    #[must_use]
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self { role: ImportedRole::User, text: text.into() }
    }

    /// Makes a message of a model.
    #[must_use]
    pub fn model(text: impl Into<Arc<str>>) -> Self {
        Self { role: ImportedRole::Model, text: text.into() }
    }
}

impl From<Imported> for Content {
    fn from(Imported { role, text }: Imported) -> Self {
        let origin = EntryOrigin::Imported;
        match role {
            ImportedRole::User => Self::User { text, key: None, origin },
            ImportedRole::Model => {
                Self::Model { text, ending: Ending::Complete, model: None, origin }
            }
        }
    }
}
