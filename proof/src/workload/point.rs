//! The points at which a process can die: wherever the runtime meets its model, its store or its
//! tools.

use serde::{Deserialize, Serialize};

use crate::{dice::Dice, named::named};

named! {
    /// A point at which the process can die.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Point {
        /// The store is about to begin a transaction.
        StoreBegin = "store-begin",
        /// It is about to begin a part of one.
        StoreSavepoint = "store-savepoint",
        /// Facts are about to be written.
        StoreWrite = "store-write",
        /// Facts were written.
        StoreWritten = "store-written",
        /// A part is about to be kept.
        StoreKeep = "store-keep",
        /// A part is about to be undone.
        StoreUndo = "store-undo",
        /// Everything was written and nothing is committed.
        StoreCommit = "store-commit",
        /// The commit has happened, and no caller knows it.
        StoreCommitted = "store-committed",
        /// A handler has begun.
        ToolBegun = "tool-begun",
        /// It has written and not returned.
        ToolWritten = "tool-written",
        /// The model is asked.
        ModelAsked = "model-asked",
        /// It is about to answer.
        ModelAnswers = "model-answers",
        /// A person has seen a question.
        QuestionSeen = "question-seen",
        /// The person's answer counts, and the person does not know.
        QuestionAnswered = "question-answered",
        /// The user's text is stored.
        TurnBegan = "turn-began",
        /// The outcome of a call was heard and nothing said of it yet.
        OutcomeHeard = "outcome-heard",
    }
}

impl Point {
    /// Draws one that this does not leave out.
    pub(crate) fn draw(dice: &mut Dice, leaves_out: fn(Self) -> bool) -> Self {
        let points: Vec<_> = Self::ALL.into_iter().filter(|point| !leaves_out(*point)).collect();
        *dice.pick(&points)
    }

    /// Tells whether a tool of the process passes it.
    #[must_use]
    pub const fn is_of_tools(self) -> bool {
        matches!(self, Self::ToolBegun | Self::ToolWritten)
    }

    /// Tells whether a person passes it.
    #[must_use]
    pub const fn is_of_people(self) -> bool {
        let is_of_questions = matches!(self, Self::QuestionSeen | Self::QuestionAnswered);
        is_of_questions || matches!(self, Self::TurnBegan | Self::OutcomeHeard)
    }
}

/// The point at which the process dies, the passes until then, and the way in which it dies.
#[derive(Debug, Clone, Copy)]
pub struct Death {
    point: Point,
    left: u64,
    die: fn(),
}

impl Death {
    /// Dies in this way when the process passes the point for the N-th time.
    #[must_use]
    pub const fn at((point, left): (Point, u64), die: fn()) -> Self {
        Self { point, left, die }
    }

    /// Ends the process here, if it is time.
    pub(super) fn pass(&mut self, point: Point) {
        if self.point != point {
            return;
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            (self.die)();
        }
    }
}
