//! What a model wants back with its calls, in the form that is stored with them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Stored with a call as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Opaque {
    /// The model that said it, as `PROVIDER:MODEL`. Another model cannot read the rest.
    pub(super) model: String,
    /// The number of calls of the completion, with the first of them; 0 with the others.
    #[serde(default)]
    pub(super) calls: usize,
    /// Thoughts before the call: blocks of a message for Anthropic, members of a message for
    /// others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) thoughts: Vec<Value>,
    /// The signature of the call: a text for Gemini, `extra_content` in OpenAI's format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signature: Option<Value>,
}

impl Opaque {
    /// Returns whether it says more than that there is one call.
    pub(super) fn is_worth_it(&self) -> bool {
        self.calls > 1 || !self.thoughts.is_empty() || self.signature.is_some()
    }

    pub(super) fn to_text(&self) -> Arc<str> {
        serde_json::to_string(self).expect("texts, numbers and JSON can always be written").into()
    }
}
