//! Where a chat is shown.

use madang::Item;

use crate::failure::Failure;

/// Shows what a session tells.
pub(super) trait Screen {
    /// Shows one thing that happened.
    fn show(&mut self, item: &Item) -> Result<(), Failure>;

    /// Says a sentence of the program's own, beside what the session tells.
    fn say(&mut self, sentence: &str);
}
