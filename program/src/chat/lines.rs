//! Chats without a terminal: each line of standard input is a turn.

use madang::{
    Limits,
    event::{EventKind, Notice, StreamItem, plain},
};
use unicode_width::UnicodeWidthChar as _;

use super::{
    input::{InputLines, Line},
    screen::Screen,
    summary::summary,
    talk::{Next, Talk},
};
use crate::{
    failure::Failure, language::UiLanguage, output, printable::printable, signals::Asked,
    texts::Text,
};

/// Runs one turn after another until the input ends.
pub(super) async fn run(mut talk: Talk, screen: &mut dyn Screen) -> Result<(), Failure> {
    let unreadable = |cause| Failure::because("failed to read standard input: try again", cause);
    let mut lines = InputLines::of_stdin().map_err(unreadable)?;
    let mut next = talk.go_on(screen).await?;
    loop {
        match next {
            Next::Turn => {}
            Next::Leave => return Err(stopped(&talk)),
            Next::Terminate => {
                let id = talk.session.id();
                output::notice(&Text::LeftOpen(id).in_locale(talk.locale));
                return Ok(());
            }
        }
        let line = tokio::select! {
            line = lines.next() => line.map_err(unreadable)?,
            asked = talk.signals.next() => {
                next = match asked {
                    Asked::Interrupt => Next::Leave,
                    Asked::Terminate => Next::Terminate,
                };
                continue;
            }
        };
        next = match line {
            None => return Ok(()),
            Some(Line::Text(text)) => talk.turn(text, screen).await?,
            Some(Line::NotUtf8 { line }) => {
                screen.say(&Text::NotUtf8 { line }.in_locale(talk.locale));
                Next::Turn
            }
            Some(Line::Endless { bytes }) => {
                let max_bytes = Limits::default().max_user_text_bytes as u64;
                screen.say(&Text::TooLong { bytes, max_bytes }.in_locale(talk.locale));
                Next::Turn
            }
        };
    }
}

/// Reports that the chat stopped before the end of the input.
fn stopped(talk: &Talk) -> Failure {
    let id = talk.session.id();
    Failure::new(format!("stopped before the end of the input: go on with --session {id}"))
}

/// The beginnings of the program's lines.
const MARKS: [char; 3] = ['·', '※', '✗'];

/// Indents each line of the model that begins like one of the program; characters without width do
/// not hide a beginning.
fn said(text: &str) -> String {
    let lines = printable(text);
    let said = |line: &str| {
        let seen = line.trim_start_matches(|letter: char| letter.width() == Some(0));
        if seen.starts_with(MARKS) { format!("  {line}") } else { line.to_owned() }
    };
    lines.split('\n').map(said).collect::<Vec<_>>().join("\n")
}

/// Prints a chat as plain text, or one event a line as JSON, in the library's own form.
#[derive(Debug)]
pub(super) struct Piped {
    pub(super) locale: UiLanguage,
    pub(super) is_json: bool,
}

impl Piped {
    fn event(&self, event: &EventKind) -> Option<String> {
        match event {
            EventKind::ModelMessage { text, .. } => Some(said(text.trim())),
            EventKind::ToolCallEnded { record } => {
                Some(format!("· {}", summary(record, self.locale)))
            }
            EventKind::SystemNotice { notice: Notice::SuggestClear, text } => Some(format!(
                "※ {} {}",
                plain(text),
                Text::HowToClearElsewhere.in_locale(self.locale)
            )),
            EventKind::SystemNotice {
                notice: Notice::EffectUnknown | Notice::TurnLeftOut | Notice::Unreadable,
                text,
            }
            | EventKind::ToolCallResolved { text, .. }
            | EventKind::TurnInterrupted { text } => Some(format!("※ {}", plain(text))),
            EventKind::Error { text, .. } => Some(format!("✗ {}", plain(text))),
            EventKind::UserMessage { .. }
            | EventKind::ToolCallProposed { .. }
            | EventKind::ApprovalRequested { .. }
            | EventKind::ApprovalEnded { .. }
            | EventKind::Cleared
            | EventKind::MessagesLeftOut { .. }
            | EventKind::TurnResumed
            | EventKind::TurnEnded { .. }
            | _ => None,
        }
    }
}

impl Screen for Piped {
    fn show(&mut self, item: &StreamItem) -> Result<(), Failure> {
        match item {
            StreamItem::Event(event) if self.is_json => {
                let line = serde_json::to_string(&**event);
                output::foreign(
                    &line.map_err(|cause| {
                        Failure::because("failed to write an event as JSON", cause)
                    })?,
                )
            }
            StreamItem::Event(event) => {
                self.event(&event.kind).map_or(Ok(()), |line| output::line(&line))
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

    fn speak(&mut self, locale: UiLanguage) {
        self.locale = locale;
    }

    fn say(&mut self, sentence: &str) {
        output::complain(sentence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_the_model_begins_as_one_of_the_program_does() {
        for before in ["", "\u{200d}", "\u{200c}\u{fe0f}", "\u{301}"] {
            for mark in MARKS {
                let line = format!("{before}{mark} ✅ Done · add_habit");
                assert_eq!(said(&format!("a\n{line}")), format!("a\n  {line}"), "{before:?}");
            }
        }
        // A hidden letter before the mark is shown as a code, so the line begins with that.
        for before in ["\u{200b}", "\u{feff}\u{2060}", "\u{ad}"] {
            for mark in MARKS {
                let line = said(&format!("{before}{mark} ✅ Done · add_habit"));
                assert!(line.starts_with("\\u{"), "{line}");
            }
        }
        assert_eq!(said("a · b\n- c"), "a · b\n- c");
    }
}
