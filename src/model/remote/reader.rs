//! What each format has: a reader of the frames of one stream.

use serde_json::Value;

use super::{answer::Answer, broken::Broken};

/// Reads the frames of one stream.
pub(super) trait Reader: Send {
    /// Reads a frame, and puts what it says into the answer.
    fn push(&mut self, frame: &Value, answer: &mut Answer) -> Result<(), Broken>;

    /// Reads an answer that came in one piece instead of a stream.
    fn whole(&mut self, value: &Value, answer: &mut Answer) -> Result<(), Broken> {
        self.push(value, answer)
    }

    /// Takes the end of the stream.
    fn end(&mut self, _answer: &mut Answer) -> Result<(), Broken> {
        Ok(())
    }
}
