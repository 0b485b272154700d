//! A person in one chat: asks, answers questions, says at once what they hear, and sometimes leaves.

use std::time::Duration;

use madang::{
    Session, TurnId,
    approval::{Decision, Question},
    error::{AnswerError, DismissError, SessionError, TurnRefused},
    event::{EventKind, StreamItem, Subscription},
};

use super::{TestRuntime, plan::TurnPlan, point::Point};
use crate::{
    dice::Dice,
    oracle::{Heard, Line},
};

/// Longer than any turn takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A person and their session.
#[derive(Debug)]
pub struct Chat {
    runtime: TestRuntime,
    session: Session,
    events: Subscription,
}

/// The runtime did what it should not do to a person.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The session cannot be used.
    #[error("failed to use a session")]
    Session(#[from] SessionError),
    /// A turn was refused.
    #[error("a turn was refused")]
    Refused(#[from] TurnRefused),
    /// A turn did not end.
    #[error("a turn did not end")]
    Endless,
    /// The session's events ended.
    #[error("the events of a session ended")]
    Silent,
}

impl Chat {
    /// Opens the session of this number, and stays until a turn that was open has ended.
    ///
    /// # Errors
    /// [`ChatError`] if that goes wrong.
    pub async fn open(runtime: &TestRuntime, number: u64) -> Result<Self, ChatError> {
        let user = if number.is_multiple_of(2) { "kim" } else { "lee" };
        let session = runtime.runtime.session(user, &format!("chat {number}")).await?;
        let events = session.subscribe();
        let mut chat = Self { runtime: runtime.clone(), session, events };
        let state = chat.session.state().await?;
        if let Some(question) = &state.question {
            chat.decide(question).await;
        }
        // A turn that was dismissed streams no more, and may still be waiting for a handler.
        if let Some(turn) = chat.session.turn().await? {
            chat.stay(turn.id(), None).await?;
        }
        Ok(chat)
    }

    /// Begins a turn and stays to its end, or leaves in the middle.
    ///
    /// # Errors
    /// [`ChatError`] if that goes wrong.
    pub async fn turn(&mut self, plan: &TurnPlan, dice: &mut Dice) -> Result<(), ChatError> {
        let turn = self.session.send(plan.to_string()).await?;
        self.runtime.points.pass(Point::TurnBegan);
        self.say(Line::Began { turn: turn.id() });
        let leaves_after = dice.once_in(16).then(|| dice.below(8));
        self.stay(turn.id(), leaves_after).await
    }

    /// Hears everything up to the end of this turn. That of another may still wait to be heard: one that was resumed
    /// can have ended before anybody asked about it.
    async fn stay(&mut self, turn: TurnId, leaves_after: Option<u64>) -> Result<(), ChatError> {
        let stay = async {
            for number in 0.. {
                if leaves_after == Some(number) {
                    self.leave().await;
                }
                if self.hear().await? == Some(turn) {
                    break;
                }
            }
            Ok(())
        };
        tokio::time::timeout(PATIENCE, stay).await.unwrap_or(Err(ChatError::Endless))
    }

    async fn leave(&self) {
        match self.session.dismiss().await {
            Ok(()) | Err(DismissError::NoTurn) => {}
            Err(error) => panic!("a dismissal failed: {error}"),
        }
    }

    /// Hears the next event and says what it tells. Gives the turn that ended with it.
    async fn hear(&mut self) -> Result<Option<TurnId>, ChatError> {
        let StreamItem::Event(event) = self.events.next().await.ok_or(ChatError::Silent)? else {
            return Ok(None);
        };
        match &event.kind {
            EventKind::ConfirmationAsked { question } => self.decide(question).await,
            EventKind::ToolCallEnded { record } => {
                self.runtime.points.pass(Point::OutcomeHeard);
                if let Some(heard) = Heard::of(record) {
                    self.say(Line::Heard(heard));
                }
            }
            EventKind::TurnEnded { .. } => {
                self.say(Line::Ended { turn: event.turn });
                return Ok(Some(event.turn));
            }
            EventKind::UserMessage { .. }
            | EventKind::ModelMessage { .. }
            | EventKind::ToolCallProposed { .. }
            | EventKind::ConfirmationEnded { .. }
            | EventKind::SystemNotice { .. }
            | EventKind::Error { .. }
            | EventKind::MessagesLeftOut { .. }
            | EventKind::TurnResumed
            | EventKind::ToolCallResolved { .. }
            | EventKind::Cleared
            | _ => {}
        }
        Ok(None)
    }

    /// Says yes to three of four. What is decided follows from the token, so that a question that comes again after a
    /// restart gets the same answer.
    async fn decide(&self, question: &Question) {
        self.runtime.points.pass(Point::QuestionSeen);
        let Some(token) = question.arguments["token"].as_str() else { return };
        let number = token.bytes().fold(0, |number: u64, byte| number * 31 + u64::from(byte));
        let decision =
            if Dice::new(number).once_in(4) { Decision::Deny } else { Decision::Approve };
        if decision == Decision::Approve {
            // Said before: if the process dies on the way, the answer may count or not.
            self.say(Line::Approves { token: token.to_owned() });
        }
        match self.session.answer(question, decision).await {
            Ok(()) => self.runtime.points.pass(Point::QuestionAnswered),
            // The person has left meanwhile, or has answered it in the state of the screen already.
            Err(AnswerError::NotOpen) => {}
            Err(error) => panic!("an answer does not count: {error}"),
        }
    }

    fn say(&self, line: Line) {
        (self.runtime.say)(line);
    }
}
