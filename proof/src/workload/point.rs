//! The points at which a process can die: wherever the runtime meets its model, its store or its tools.

/// A point at which the process can die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// The store is about to begin a transaction.
    StoreBegin,
    /// It is about to begin a part of one.
    StoreSavepoint,
    /// Facts are about to be written.
    StoreWrite,
    /// Facts were written.
    StoreWritten,
    /// A part is about to be kept.
    StoreKeep,
    /// A part is about to be undone.
    StoreUndo,
    /// Everything was written and nothing is committed.
    StoreCommit,
    /// The commit has happened, and no caller knows it.
    StoreCommitted,
    /// A handler has begun.
    ToolBegun,
    /// It has written and not returned.
    ToolWritten,
    /// The model is asked.
    ModelAsked,
    /// It is about to answer.
    ModelAnswers,
    /// A person has seen a question.
    QuestionSeen,
    /// The person's answer counts, and the person does not know.
    QuestionAnswered,
    /// The user's text is stored.
    TurnBegan,
    /// The outcome of a call was heard and nothing said of it yet.
    OutcomeHeard,
}

impl Point {
    /// All points.
    pub const ALL: [Self; 16] = [
        Self::StoreBegin,
        Self::StoreSavepoint,
        Self::StoreWrite,
        Self::StoreWritten,
        Self::StoreKeep,
        Self::StoreUndo,
        Self::StoreCommit,
        Self::StoreCommitted,
        Self::ToolBegun,
        Self::ToolWritten,
        Self::ModelAsked,
        Self::ModelAnswers,
        Self::QuestionSeen,
        Self::QuestionAnswered,
        Self::TurnBegan,
        Self::OutcomeHeard,
    ];

    /// Returns its name on a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StoreBegin => "store-begin",
            Self::StoreSavepoint => "store-savepoint",
            Self::StoreWrite => "store-write",
            Self::StoreWritten => "store-written",
            Self::StoreKeep => "store-keep",
            Self::StoreUndo => "store-undo",
            Self::StoreCommit => "store-commit",
            Self::StoreCommitted => "store-committed",
            Self::ToolBegun => "tool-begun",
            Self::ToolWritten => "tool-written",
            Self::ModelAsked => "model-asked",
            Self::ModelAnswers => "model-answers",
            Self::QuestionSeen => "question-seen",
            Self::QuestionAnswered => "question-answered",
            Self::TurnBegan => "turn-began",
            Self::OutcomeHeard => "outcome-heard",
        }
    }
}

/// The point at which the process dies, and the passes until then.
#[derive(Debug, Clone, Copy)]
pub struct Death {
    point: Point,
    left: u32,
    die: fn(),
}

impl Death {
    /// Reads `POINT:N`: the process dies in this way when it passes the point for the N-th time.
    #[must_use]
    pub fn read(text: &str, die: fn()) -> Option<Self> {
        let (name, count) = text.split_once(':')?;
        let point = Point::ALL.into_iter().find(|point| point.name() == name)?;
        Some(Self { point, left: count.parse().ok()?, die })
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
