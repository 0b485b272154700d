//! Runs a person's turns in a session: sends each, follows it to its end, answers its questions,
//! dismisses it.

use std::pin::pin;

use madang::{
    Error, Session, Turn, TurnOptions,
    approval::{ApprovalRequest, Decision},
    error::{Bound, LimitExceeded},
    event::{EventKind, StreamItem, Subscription},
};

use super::{
    asking::{Asking, Key, Part, Pressed},
    by_line::{Answered, Dialogue, Line},
    screen::Screen,
};
use crate::{
    args::ApprovalMode,
    failure::Failure,
    language::{LanguageChoice, UiLanguage},
    signals::{Asked, Signals},
    texts::Text,
};

/// A session with one turn after another.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) session: Session,
    options: TurnOptions,
    language: LanguageChoice,
    /// The language of the program's own texts: that of the last turn.
    pub(super) locale: UiLanguage,
    pub(super) signals: Signals,
    events: Subscription,
    answers: Answers,
    /// The last answer that was given by its key, until the next line.
    answered: Option<Key>,
}

/// The source of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// No source: calls that need an approval do not run.
    None,
    /// Approves every question, as the command line says.
    Yes,
    /// Denies every question.
    No,
    /// The person at the terminal, by a key.
    Ask,
}

/// The next action after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The next turn.
    Turn,
    /// The person wants to leave.
    Leave,
    /// A signal asks the program to end.
    Terminate,
}

impl Answers {
    /// Follows the command line; without an option it asks at a terminal.
    pub(super) fn of(confirm: Option<ApprovalMode>, is_terminal: bool) -> Self {
        match confirm {
            Some(ApprovalMode::Approve) => Self::Yes,
            Some(ApprovalMode::Deny) => Self::No,
            Some(ApprovalMode::Ask) | None if is_terminal => Self::Ask,
            Some(ApprovalMode::Ask) | None => Self::None,
        }
    }
}

impl Talk {
    /// Listens to the session from here on.
    pub(super) fn new(
        session: Session,
        (options, language): (TurnOptions, LanguageChoice),
        answers: Answers,
        signals: Signals,
    ) -> Self {
        let events = session.subscribe();
        let locale = language.first();
        Self { session, options, language, locale, signals, events, answers, answered: None }
    }

    /// Speaks the language of a text of the person from here on, unless another was named.
    pub(super) fn follow_language(&mut self, text: &str, screen: &mut dyn Screen) {
        self.locale = self.language.behind(text, self.locale);
        screen.speak(self.locale);
    }

    /// Follows an interrupted turn of an earlier run to its end, if it goes on.
    pub(super) async fn go_on(&mut self, screen: &mut dyn Screen) -> Result<Next, Failure> {
        match self.session.turn().await.map_err(Failure::of)? {
            Some(turn) => self.follow(turn, screen).await,
            None => {
                // It may have ended already.
                self.catch_up(screen)?;
                Ok(Next::Turn)
            }
        }
    }

    /// Returns whether a line is the rest of the word of an answer, such as the "o" of "no": its
    /// first letter was the answer. Only the first line after an answer is.
    pub(super) fn ends_answer(&mut self, line: &str) -> bool {
        let rests = match self.answered.take() {
            Some(Key::Yes) => ["es", "ㄷㄴ"],
            Some(Key::No) => ["o", "ㅐ"],
            _ => return false,
        };
        rests.contains(&&*line.to_lowercase())
    }

    /// Shows the events that were not shown yet.
    pub(super) fn catch_up(&mut self, screen: &mut dyn Screen) -> Result<(), Failure> {
        while let Some(item) = self.events.try_next() {
            screen.show(&item)?;
        }
        Ok(())
    }

    /// Sends a turn and follows it to its end. A refused text does not end the chat.
    pub(super) async fn turn(
        &mut self,
        text: String,
        screen: &mut dyn Screen,
    ) -> Result<Next, Failure> {
        self.follow_language(&text, screen);
        match self.session.send_with(text, self.options.clone()).await {
            Ok(turn) => self.follow(turn, screen).await,
            Err(Error::Empty) => Ok(Next::Turn),
            Err(Error::TooLong { bytes, max_bytes }) => {
                let text = Text::TooLong { bytes: bytes as u64, max_bytes: max_bytes as u64 };
                Ok(self.refused(text, screen))
            }
            Err(Error::Overloaded(LimitExceeded { bound: Bound::StoredBytes, max, .. })) => {
                let user = self.session.user().clone();
                let text = Text::TooMuchStored { user: &user, max_bytes: max as u64 };
                Ok(self.refused(text, screen))
            }
            Err(Error::Overloaded(_) | Error::Busy) => Ok(self.refused(Text::Overloaded, screen)),
            // The program gives no keys, and only known time zones.
            Err(error) => {
                let id = self.session.id();
                Err(Failure::of_store(format!("failed to go on with session {id}"), error))
            }
        }
    }

    fn refused(&self, text: Text<'_>, screen: &mut dyn Screen) -> Next {
        screen.say(&text.in_locale(self.locale));
        Next::Turn
    }

    async fn follow(&mut self, turn: Turn, screen: &mut dyn Screen) -> Result<Next, Failure> {
        let mut ended = pin!(turn.ended());
        let mut asking: Option<Asking> = None;
        let mut was_dismissed = false;
        loop {
            let happened = tokio::select! {
                biased;
                asked = self.signals.next() => Happened::Asked(asked),
                pressed = pressed(&mut asking) => Happened::Pressed(pressed),
                item = self.events.next() => Happened::StreamItem(item),
                end = &mut ended => Happened::Ended(end.is_ok()),
            };
            match happened {
                Happened::StreamItem(Some(item)) => {
                    if self.heard(item, &mut asking, screen).await? == Keyboard::Closed {
                        return Ok(Next::Terminate);
                    }
                }
                // Only a dismissal that lets the turn finish closes the feed, and the program never
                // uses it.
                Happened::StreamItem(None) => self.events = self.session.subscribe(),
                Happened::Pressed(Pressed::Show(part)) => {
                    screen.part(part)?;
                    if let Some(asking) = &mut asking
                        && matches!(part, Part::Page | Part::End)
                    {
                        asking.shown(screen.has_more());
                    }
                }
                // The terminal is gone: the question stays open.
                Happened::Pressed(Pressed::Closed) => return Ok(Next::Terminate),
                Happened::Pressed(Pressed::Key(
                    key @ (Key::Yes | Key::Always | Key::No | Key::Message | Key::Edit),
                )) => {
                    // The keyboard is released before more is printed.
                    let Some(request) = asking.take().map(Asking::end) else { continue };
                    match self.pressed(key, &request, screen).await? {
                        Answered::Yes => {}
                        Answered::NotYet => {
                            let again = |screen: &mut dyn Screen| screen.ask_again();
                            asking = Asking::begin(request, screen, again)?;
                            if asking.is_none() {
                                return Ok(Next::Terminate);
                            }
                        }
                        Answered::Asked(Asked::Terminate) => return Ok(Next::Terminate),
                        Answered::Asked(Asked::Interrupt) => return Ok(Next::Leave),
                    }
                }
                Happened::Asked(Asked::Terminate) => return Ok(Next::Terminate),
                Happened::Asked(Asked::Interrupt)
                | Happened::Pressed(Pressed::Key(Key::Interrupt)) => {
                    if was_dismissed || self.answers != Answers::Ask {
                        return Ok(Next::Leave);
                    }
                    was_dismissed = true;
                    // The keyboard is released before more is printed.
                    asking = None;
                    self.dismiss(screen).await;
                }
                Happened::Ended(is_told) => {
                    self.catch_up(screen)?;
                    if !is_told {
                        let id = self.session.id().clone();
                        screen.say(&Text::CutOff(&id).in_locale(self.locale));
                    }
                    return Ok(Next::Turn);
                }
            }
        }
    }

    const fn dialogue(&mut self) -> Dialogue<'_> {
        let Self { session, signals, locale, .. } = self;
        Dialogue { session, signals, locale: *locale }
    }

    /// Carries out the meaning of a key.
    async fn pressed(
        &mut self,
        key: Key,
        request: &ApprovalRequest,
        screen: &mut dyn Screen,
    ) -> Result<Answered, Failure> {
        let decision = match key {
            Key::Yes => Decision::Approve,
            Key::Always => Decision::ApproveAlways,
            Key::No => Decision::Deny,
            Key::Message => return Line::Message.answer(request, self.dialogue(), screen).await,
            Key::Edit => return Line::Arguments.answer(request, self.dialogue(), screen).await,
            Key::Interrupt => return Ok(Answered::Asked(Asked::Interrupt)),
        };
        self.answered = Some(key);
        self.decide(request, decision, screen).await;
        Ok(Answered::Yes)
    }

    async fn heard(
        &mut self,
        item: StreamItem,
        asking: &mut Option<Asking>,
        screen: &mut dyn Screen,
    ) -> Result<Keyboard, Failure> {
        let kind = if let StreamItem::Event(event) = &item { Some(&event.kind) } else { None };
        let is_closed = match kind {
            Some(EventKind::ApprovalEnded { call, .. }) => {
                asking.as_ref().is_some_and(|asking| asking.request.call == *call)
            }
            Some(EventKind::TurnInterrupted { .. }) => true,
            _ => false,
        };
        if is_closed {
            // The keyboard is released before more is printed.
            *asking = None;
        }
        let request = if let Some(EventKind::ApprovalRequested { request }) = kind {
            Some(request)
        } else {
            None
        };
        if let (Some(request), Answers::Ask) = (request, self.answers) {
            let request = Box::new(request.clone());
            *asking = Asking::begin(request, screen, |screen| screen.show(&item))?;
            return Ok(if asking.is_some() { Keyboard::Open } else { Keyboard::Closed });
        }
        screen.show(&item)?;
        match (request, self.answers) {
            (Some(request), Answers::Yes) => {
                self.decide(request, Decision::Approve, screen).await;
            }
            (Some(request), Answers::No) => self.decide(request, Decision::Deny, screen).await,
            // A person could answer in an earlier run.
            (Some(_), Answers::None) => {
                screen.say(&Text::QuestionWaits.in_locale(self.locale));
            }
            (Some(_), Answers::Ask) | (None, _) => {}
        }
        Ok(Keyboard::Open)
    }

    async fn decide(&self, request: &ApprovalRequest, decision: Decision, screen: &mut dyn Screen) {
        if let Err(error) = self.session.decide(request, decision).await {
            tracing::debug!(call = %request.call, %error, "an answer does not count");
            screen.say(&Text::AnswerDoesNotCount.in_locale(self.locale));
        }
    }

    async fn dismiss(&self, screen: &mut dyn Screen) {
        match self.session.dismiss().await {
            Ok(_) => screen.say(&Text::Stopping.in_locale(self.locale)),
            Err(error) => tracing::debug!(%error, "nothing was dismissed"),
        }
    }
}

enum Happened {
    Asked(Asked),
    Pressed(Pressed),
    StreamItem(Option<StreamItem>),
    /// Whether the end was reported.
    Ended(bool),
}

/// Whether a person can still answer.
#[derive(Debug, PartialEq, Eq)]
enum Keyboard {
    Open,
    /// The terminal is gone.
    Closed,
}

/// Waits for a key while a question is open, and forever otherwise. Dropping the future loses
/// nothing.
async fn pressed(asking: &mut Option<Asking>) -> Pressed {
    match asking {
        Some(asking) => asking.pressed().await,
        None => std::future::pending().await,
    }
}
