//! The output of a chat.

use madang::event::StreamItem;

use super::{asking::Part, editor::Editor};
use crate::{failure::Failure, language::UiLanguage};

/// Shows the events of a session.
pub(super) trait Screen {
    /// Shows one event.
    fn show(&mut self, item: &StreamItem) -> Result<(), Failure>;

    /// Shows a sentence of the program itself.
    fn say(&mut self, sentence: &str);

    /// Speaks this language from here on.
    fn speak(&mut self, locale: UiLanguage);

    /// Shows a part of the open question.
    fn part(&mut self, _: Part) -> Result<(), Failure> {
        Ok(())
    }

    /// Tells whether the open question has more pages.
    fn has_more(&self) -> bool {
        false
    }

    /// Shows the open question again after another output.
    fn ask_again(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Keeps input that was typed before a question, for the person's next line.
    fn typed_ahead(&mut self, _: String) {}

    /// Returns the line editor at the beginning of a line; `None` if no person can type.
    fn editor(&mut self) -> Result<Option<&mut Editor>, Failure> {
        Ok(None)
    }
}
