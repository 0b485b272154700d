//! Lists which actor ends, when and how.

use madang_actors::failpoint::Action;

/// The stage of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The turn has ended, and the session is awake.
    Idle,
    /// The user's message is being stored.
    AskStored,
    /// The model speaks.
    ModelSpeaks,
    /// A question to a person is open.
    QuestionOpen,
    /// A handler holds the store's transaction.
    HandlerInTransaction,
    /// A handler works outside the store.
    HandlerOutside,
    /// The model's answer is being stored.
    AnswerStored,
}

impl Stage {
    /// Returns the user's text: the tool that the model shall call, or a subject.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::QuestionOpen => "erase",
            Self::HandlerInTransaction => "save",
            Self::HandlerOutside => "mail",
            Self::Idle | Self::AskStored | Self::ModelSpeaks | Self::AnswerStored => "speak",
        }
    }

    pub(super) const fn is_being_stored(self) -> bool {
        matches!(self, Self::AskStored | Self::AnswerStored)
    }
}

/// The actor that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    Session,
    Llm,
    Dispatcher,
    Confirm,
    Store,
    /// The call's actor, when its handler has ended: no other code has its address.
    Call,
}

impl Victim {
    pub(super) const ALL: [Self; 6] =
        [Self::Session, Self::Llm, Self::Dispatcher, Self::Confirm, Self::Store, Self::Call];

    pub(super) fn takes_part_in(self, stage: Stage) -> bool {
        self != Self::Call || matches!(stage.text(), "erase" | "save" | "mail")
    }

    pub(super) fn can_end_by(self, way: Way) -> bool {
        self != Self::Call || way != Way::Killed
    }

    /// Returns the step at which a message makes it fail or panic.
    pub(super) const fn failpoint(self) -> &'static str {
        match self {
            Self::Session => "session.state",
            Self::Llm => "llm.handle",
            Self::Dispatcher => "dispatcher.handle",
            Self::Confirm => "confirm.withdraw",
            Self::Store => "store.handle",
            Self::Call => "call.supervises",
        }
    }
}

/// The way in which it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Killed,
    Failed,
    Panicked,
}

impl Way {
    pub(super) const ALL: [Self; 3] = [Self::Killed, Self::Failed, Self::Panicked];

    pub(super) const fn action(self) -> Option<Action> {
        match self {
            Self::Killed => None,
            Self::Failed => Some(Action::Error),
            Self::Panicked => Some(Action::Panic),
        }
    }
}
