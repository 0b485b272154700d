//! Where a chat is shown.

use madang::event::StreamItem;

use super::{asking::Part, editor::Editor};
use crate::failure::Failure;

/// Shows what a session tells.
pub(super) trait Screen {
    /// Shows one thing that happened.
    fn show(&mut self, item: &StreamItem) -> Result<(), Failure>;

    /// Says a sentence of the program's own, beside what the session tells.
    fn say(&mut self, sentence: &str);

    /// Shows a part of the open question.
    fn part(&mut self, _: Part) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether the open question has pages that were not shown yet.
    fn has_more(&self) -> bool {
        false
    }

    /// Goes back to the open question, where something else stands on the screen.
    fn ask_again(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Keeps what was typed before a question for the next line that a person types.
    fn typed_ahead(&mut self, _: String) {}

    /// Where a person can type a line, at the beginning of one; `None` where no person can.
    fn editor(&mut self) -> Result<Option<&mut Editor>, Failure> {
        Ok(None)
    }
}
