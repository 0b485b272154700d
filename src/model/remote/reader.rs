//! What each format has: a reader of the frames of one stream.

use serde_json::Value;

use super::answer::{Answer, Broken};

/// Reads the frames of one stream.
pub(super) trait Reader: Send {
    /// Reads a frame, and puts what it says into the answer.
    fn push(&mut self, frame: &Value, answer: &mut Answer) -> Result<(), Broken>;
}
