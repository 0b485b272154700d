//! Where a chat is shown.

use madang::Item;

use super::editor::Editor;
use crate::failure::Failure;

/// Shows what a session tells.
pub(super) trait Screen {
    /// Shows one thing that happened.
    fn show(&mut self, item: &Item) -> Result<(), Failure>;

    /// Says a sentence of the program's own, beside what the session tells.
    fn say(&mut self, sentence: &str);

    /// Asks once more how the open question is answered, in one line.
    fn ask_again(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Where a person can type a line, at the beginning of one; `None` where nobody can.
    fn editor(&mut self) -> Result<Option<&mut Editor>, Failure> {
        Ok(None)
    }
}
