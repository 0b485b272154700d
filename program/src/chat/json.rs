//! Prints events as JSON lines, in the library's own form.

use madang::event::StreamItem;

use super::screen::Screen;
use crate::{failure::Failure, language::UiLanguage, output, texts::Text};

/// Prints one event a line.
#[derive(Debug)]
pub(super) struct Json {
    locale: UiLanguage,
}

impl Json {
    pub(super) const fn new(locale: UiLanguage) -> Self {
        Self { locale }
    }
}

impl Screen for Json {
    fn show(&mut self, item: &StreamItem) -> Result<(), Failure> {
        match item {
            StreamItem::Event(event) => {
                let line = serde_json::to_string(&**event);
                output::foreign(
                    &line.map_err(|cause| {
                        Failure::because("failed to write an event as JSON", cause)
                    })?,
                )
            }
            StreamItem::ReplayFailed => {
                self.say(&Text::Missed.in_locale(self.locale));
                Ok(())
            }
            // Partial texts are part of later events.
            StreamItem::Text { .. }
            | StreamItem::Thinking { .. }
            | StreamItem::Progress { .. }
            | StreamItem::Lagged { .. }
            | _ => Ok(()),
        }
    }

    fn say(&mut self, sentence: &str) {
        output::complain(sentence);
    }
}
