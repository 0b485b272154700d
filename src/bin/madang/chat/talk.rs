//! A person's turns in a session: asks, follows each to its end, answers its questions, dismisses.

use std::pin::pin;

use madang::{
    Decision, EventKind, Item, Question, Session, Subscription, Turn, TurnOptions, TurnRefused,
};

use super::{
    by_line::{Answered, Line},
    keys::{Key, Keys},
    screen::Screen,
};
use crate::{
    args::Confirmation,
    failure::Failure,
    signals::{Asked, Signals},
    texts::Text,
};

/// A session in which turns are taken one after the other.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) session: Session,
    pub(super) options: TurnOptions,
    pub(super) signals: Signals,
    events: Subscription,
    answers: Answers,
}

/// Who answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// Nobody: what must be confirmed does not run.
    Nobody,
    /// Yes to every question, as it was said on the command line.
    Yes,
    /// No to every question.
    No,
    /// The person at the terminal, by a key.
    Ask,
}

/// What comes after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The next turn.
    Turn,
    /// The person wants to leave.
    Leave,
    /// The program shall end.
    Terminate,
}

impl Answers {
    /// What the command line says; where it says nothing a terminal is asked.
    pub(super) fn of(confirm: Option<Confirmation>, is_terminal: bool) -> Self {
        match confirm {
            Some(Confirmation::Approve) => Self::Yes,
            Some(Confirmation::Deny) => Self::No,
            Some(Confirmation::Ask) | None if is_terminal => Self::Ask,
            Some(Confirmation::Ask) | None => Self::Nobody,
        }
    }
}

impl Talk {
    /// Listens to the session from here on.
    pub(super) fn new(
        session: Session,
        options: TurnOptions,
        answers: Answers,
        signals: Signals,
    ) -> Self {
        let events = session.subscribe();
        Self { session, options, signals, events, answers }
    }

    /// Follows the turn that was cut off when the program ended before, if it goes on, to its end.
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

    /// Shows what has happened and was not shown yet.
    pub(super) fn catch_up(&mut self, screen: &mut dyn Screen) -> Result<(), Failure> {
        while let Some(item) = self.events.try_next() {
            screen.show(&item)?;
        }
        Ok(())
    }

    /// Takes a turn and follows it to its end. A text that is refused is no reason to stop.
    pub(super) async fn turn(
        &mut self,
        text: String,
        screen: &mut dyn Screen,
    ) -> Result<Next, Failure> {
        match self.session.ask_with(text, self.options.clone()).await {
            Ok(turn) => self.follow(turn, screen).await,
            Err(TurnRefused::Empty) => Ok(Next::Turn),
            Err(TurnRefused::TooLong { bytes, max_bytes }) => {
                let text = Text::TooLong { bytes: bytes as u64, max_bytes: max_bytes as u64 };
                Ok(self.refused(text, screen))
            }
            Err(TurnRefused::Overloaded(_) | TurnRefused::Busy) => {
                Ok(self.refused(Text::Overloaded, screen))
            }
            // The program gives no keys.
            Err(error @ (TurnRefused::Store(_) | TurnRefused::Closed | TurnRefused::OtherText)) => {
                let id = self.session.id();
                Err(Failure::of_store(format!("failed to go on with session {id}"), error))
            }
        }
    }

    fn refused(&self, text: Text<'_>, screen: &mut dyn Screen) -> Next {
        screen.say(&text.in_locale(self.options.locale));
        Next::Turn
    }

    async fn follow(&mut self, turn: Turn, screen: &mut dyn Screen) -> Result<Next, Failure> {
        let mut ended = pin!(turn.ended());
        let mut asking = None;
        let mut was_dismissed = false;
        loop {
            let happened = tokio::select! {
                biased;
                asked = self.signals.next() => Happened::Asked(asked),
                key = pressed(&mut asking) => Happened::Key(key),
                item = self.events.next() => Happened::Item(item),
                end = &mut ended => Happened::Ended(end.is_ok()),
            };
            match happened {
                Happened::Item(Some(item)) => self.heard(item, &mut asking, screen).await?,
                // Only a dismissal that lets the turn finish closes the screen; the program never asks for it.
                Happened::Item(None) => self.events = self.session.subscribe(),
                Happened::Key(Some((question, Key::Yes))) => {
                    self.answer(&question, Decision::Approve, screen).await
                }
                Happened::Key(Some((question, Key::Always))) => {
                    self.answer(&question, Decision::ApproveAlways, screen).await
                }
                Happened::Key(Some((question, Key::No))) => {
                    self.answer(&question, Decision::Deny, screen).await
                }
                Happened::Key(Some((question, key @ (Key::Message | Key::Edit)))) => {
                    let line = if key == Key::Edit { Line::Arguments } else { Line::Message };
                    match line.answer(&question, self, screen).await? {
                        Answered::Yes => {}
                        Answered::NotYet => {
                            asking = Some((question, Keys::listen().await));
                            screen.ask_again()?;
                        }
                        Answered::Asked(Asked::Terminate) => return Ok(Next::Terminate),
                        Answered::Asked(Asked::Interrupt) => return Ok(Next::Leave),
                    }
                }
                Happened::Asked(Asked::Terminate) => return Ok(Next::Terminate),
                Happened::Asked(Asked::Interrupt)
                | Happened::Key(Some((_, Key::Interrupt)) | None) => {
                    if was_dismissed || self.answers != Answers::Ask {
                        return Ok(Next::Leave);
                    }
                    was_dismissed = true;
                    // The keyboard is given back before anything more is printed.
                    asking = None;
                    self.dismiss(screen).await;
                }
                Happened::Ended(is_told) => {
                    self.catch_up(screen)?;
                    if !is_told {
                        let id = self.session.id().clone();
                        screen.say(&Text::CutOff(&id).in_locale(self.options.locale));
                    }
                    return Ok(Next::Turn);
                }
            }
        }
    }

    async fn heard(
        &mut self,
        item: Item,
        asking: &mut Option<(Box<Question>, Keys)>,
        screen: &mut dyn Screen,
    ) -> Result<(), Failure> {
        let kind = match &item {
            Item::Event(event) => Some(&event.kind),
            Item::Text(_) | Item::Thinking(_) | Item::Lagged { .. } | Item::Unread => None,
        };
        if let Some(EventKind::ConfirmationEnded { call, .. }) = kind
            && asking.as_ref().is_some_and(|(question, _)| question.call == *call)
        {
            // The keyboard is given back before anything more is printed.
            *asking = None;
        }
        let question = if let Some(EventKind::ConfirmationAsked { question }) = kind {
            Some(question)
        } else {
            None
        };
        if let (Some(question), Answers::Ask) = (question, self.answers) {
            *asking = Some((Box::new(question.clone()), Keys::listen().await));
        }
        screen.show(&item)?;
        match (question, self.answers) {
            (Some(question), Answers::Yes) => {
                self.answer(question, Decision::Approve, screen).await;
            }
            (Some(question), Answers::No) => self.answer(question, Decision::Deny, screen).await,
            // It was asked where somebody could answer, before the program ended.
            (Some(_), Answers::Nobody) => {
                screen.say(&Text::QuestionWaits.in_locale(self.options.locale));
            }
            (Some(_), Answers::Ask) | (None, _) => {}
        }
        Ok(())
    }

    async fn answer(&self, question: &Question, decision: Decision, screen: &mut dyn Screen) {
        if let Err(error) = self.session.answer(question, decision).await {
            tracing::debug!(call = %question.call, %error, "an answer does not count");
            screen.say(&Text::AnswerDoesNotCount.in_locale(self.options.locale));
        }
    }

    async fn dismiss(&self, screen: &mut dyn Screen) {
        match self.session.dismiss().await {
            Ok(()) => screen.say(&Text::Stopping.in_locale(self.options.locale)),
            Err(error) => tracing::debug!(%error, "nothing was dismissed"),
        }
    }
}

enum Happened {
    Asked(Asked),
    /// The question that was open with the key; `None` if the keyboard cannot be read.
    Key(Option<(Box<Question>, Key)>),
    Item(Option<Item>),
    /// Whether the end was told.
    Ended(bool),
}

/// Waits for a key while a question is open, and for ever while none is. Dropping the future loses nothing.
async fn pressed(asking: &mut Option<(Box<Question>, Keys)>) -> Option<(Box<Question>, Key)> {
    let Some((_, keys)) = asking else { return std::future::pending().await };
    let key = keys.pressed().await;
    let (question, _) = asking.take()?;
    Some((question, key?))
}
