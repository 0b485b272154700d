//! Who can be asked about a call: the person in front of this client, the same person elsewhere, or
//! nobody.

use madang::Asks;
use serde::{
    Deserialize, Serialize,
    de::value::{Error as ValueError, StrDeserializer},
};

/// Who is asked for the approvals of a turn or call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ask {
    /// The person in front of this client.
    Here,
    /// The same person on another device; the client waits for the decision.
    Elsewhere,
    /// No person: a destructive call is cancelled as unreachable.
    None,
}

impl Ask {
    /// The header that states it.
    pub(crate) const HEADER: &'static str = "madang-ask";

    /// Reads the value of the header.
    pub(crate) fn read(text: &str) -> Option<Self> {
        Self::deserialize(StrDeserializer::<ValueError>::new(text)).ok()
    }

    /// Returns who is asked, wherever that person is.
    pub(crate) const fn asks(self) -> Asks {
        match self {
            Self::Here | Self::Elsewhere => Asks::User,
            Self::None => Asks::Nobody,
        }
    }
}
