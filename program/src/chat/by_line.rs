//! Reads answers that need a line: a denial with a message to the model, an approval with other
//! arguments.

use madang::{
    Limits, Session,
    approval::{ApprovalRequest, Decision},
    error::DecisionError,
    event::editable,
    language::Text as LibraryText,
    tool::Problems,
};

use super::{editor::Typed, screen::Screen, typed_json};
use crate::{
    failure::Failure,
    language::UiLanguage,
    signals::{Asked, Signals},
    texts::Text,
};

/// The longest arguments for the line editor; longer ones would fill its screen.
const MAX_EDITABLE_CHARS: usize = 2_000;

/// The content of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// The message to the model with a denial.
    Message,
    /// The arguments that run instead, as JSON.
    Arguments,
}

/// The chat in which the line is typed.
pub(super) struct Dialogue<'a> {
    pub(super) session: &'a Session,
    pub(super) signals: &'a mut Signals,
    pub(super) locale: UiLanguage,
}

/// Whether the question has an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// It has one, or needs none any more.
    Yes,
    /// The person changed their mind.
    NotYet,
    /// A signal asks for something else.
    Asked(Asked),
}

impl Line {
    /// Lets the person type until the line is an answer. Events of the session are shown
    /// afterwards; the turn waits for the answer anyway.
    pub(super) async fn answer(
        self,
        request: &ApprovalRequest,
        Dialogue { session, signals, locale }: Dialogue<'_>,
        screen: &mut dyn Screen,
    ) -> Result<Answered, Failure> {
        let (prompt, mut initial) = match self {
            Self::Message => (Text::WhyNot.in_locale(locale), String::new()),
            Self::Arguments => (Text::Arguments.in_locale(locale), editable(&request.arguments)),
        };
        if initial.chars().nth(MAX_EDITABLE_CHARS).is_some() {
            screen.say(&Text::TooLongToEdit.in_locale(locale));
            return Ok(Answered::NotYet);
        }
        loop {
            let Some(editor) = screen.editor()? else { return Ok(Answered::NotYet) };
            let typed = tokio::select! {
                biased;
                asked = signals.next() => return Ok(Answered::Asked(asked)),
                typed = editor.ask(prompt.clone(), initial) => typed?,
            };
            let Typed::Line(line) = typed else { return Ok(Answered::NotYet) };
            if line.trim().is_empty() {
                return Ok(Answered::NotYet);
            }
            let decision = match self {
                Self::Message => Decision::DenyWith { message: line.as_str().into() },
                Self::Arguments => match typed_json::read(&line) {
                    Ok(arguments) => Decision::Edit { arguments },
                    Err(error) => {
                        let line_number = error.line();
                        let column = error.column();
                        let breach = madang::tool::Breach::NotJson { line: line_number, column };
                        screen.say(&LibraryText::Breach(&breach).in_locale(locale.locale()));
                        initial = line;
                        continue;
                    }
                },
            };
            match session.decide(request, decision).await {
                Ok(()) => return Ok(Answered::Yes),
                Err(DecisionError::DoesNotFit { problems }) => {
                    let problems =
                        Problems::new(problems, &Limits::default()).in_locale(locale.locale());
                    screen.say(&LibraryText::BadArguments(&problems).in_locale(locale.locale()));
                }
                Err(DecisionError::MessageTooLong { bytes, max_bytes }) => {
                    let text = Text::TooLong { bytes: bytes as u64, max_bytes: max_bytes as u64 };
                    screen.say(&text.in_locale(locale));
                }
                Err(error) => {
                    tracing::debug!(call = %request.call, %error, "an answer does not count");
                    screen.say(&Text::AnswerDoesNotCount.in_locale(locale));
                    return Ok(Answered::Yes);
                }
            }
            initial = line;
        }
    }
}
