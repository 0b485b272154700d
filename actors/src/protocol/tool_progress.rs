//! The progress of a running call, as its handler reports it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How far a handler has come. The runtime shows it and keeps nothing of it, because only the
/// call's outcome reports what was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolProgress {
    /// The units that are done. Reports should only grow.
    pub done: f64,
    /// The units in total, if the handler knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What the handler does now, as its own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<str>>,
}

impl ToolProgress {
    /// Makes a report of so many units whose total is not known.
    #[must_use]
    pub const fn new(done: f64) -> Self {
        Self { done, total: None, message: None }
    }

    /// Sets the units in total.
    #[must_use]
    pub const fn out_of(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets the message: what the handler does now.
    #[must_use]
    pub fn saying(mut self, message: impl Into<Arc<str>>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Returns the report with its message cut to this many bytes, or `None` for numbers that JSON
    /// does not have.
    #[must_use]
    pub(crate) fn bounded(mut self, max_bytes: usize) -> Option<Self> {
        if !self.done.is_finite() || self.total.is_some_and(|total| !total.is_finite()) {
            return None;
        }
        if let Some(message) = self.message.as_mut().filter(|message| message.len() > max_bytes) {
            let end = message.floor_char_boundary(max_bytes);
            *message = message[..end].into();
        }
        Some(self)
    }
}
