//! What the person of each chat did and was told: the driver's own oracle, apart from the store.

use std::{collections::HashSet, time::Duration};

use madang::{
    CallId, SessionId, TurnId,
    event::TurnEnding,
    ledger::{CallRecord, Effect},
    tool::ToolOutcome,
};
use tokio::time::Instant;

use super::plan::{Act, Reply, TurnPlan};

/// The oracle of one chat.
#[derive(Debug)]
pub(crate) struct ChatOracle {
    pub(crate) session: SessionId,
    pub(crate) turns: Vec<TurnNote>,
    pub(crate) told: Vec<Told>,
    /// Calls to which the person said yes and that counted, or may have.
    pub(crate) approved: HashSet<CallId>,
    /// Answers that counted although another had, and submits that began a second turn.
    pub(crate) counted_twice: u64,
    /// Times that something was refused and tried again.
    pub(crate) refused: u64,
}

/// An outcome that was told.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) call: CallId,
    /// `None` where the result was discarded.
    pub(crate) outcome: Option<Word>,
    pub(crate) effect: Effect,
}

/// An outcome in a word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    Ok,
    Error(String),
    Cancelled(&'static str),
}

/// One turn.
#[derive(Debug)]
pub(crate) struct TurnNote {
    pub(crate) id: Option<TurnId>,
    pub(crate) began: Instant,
    pub(crate) ended: Option<End>,
    /// What must come of it, where nothing of its own goes wrong.
    pub(crate) expected: Option<Expected>,
    /// The successes and refusals that were told in it.
    pub(crate) came: Came,
}

/// The end of a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) at: Instant,
    pub(crate) ending: TurnEnding,
}

/// What must come of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// An answer, after this.
    Answer(Came),
    /// Anything but that it is dismissed or that the model is gone: what a model of flesh says is not known before.
    Undisturbed,
}

/// Outcomes of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Came {
    pub(crate) ok: usize,
    pub(crate) denied: usize,
    pub(crate) other: usize,
}

impl ChatOracle {
    pub(crate) fn new(session: SessionId) -> Self {
        Self {
            session,
            turns: Vec::new(),
            told: Vec::new(),
            approved: HashSet::new(),
            counted_twice: 0,
            refused: 0,
        }
    }

    /// Notes an outcome that was told in the last turn.
    pub(crate) fn hear(&mut self, record: &CallRecord) {
        let outcome = record.outcome.as_ref().map(Word::of);
        if let Some(turn) = self.turns.last_mut() {
            turn.came.add(outcome.as_ref());
        }
        self.told.push(Told { call: record.id, outcome, effect: record.effect });
    }
}

impl TurnNote {
    pub(crate) fn new(expected: Option<Expected>) -> Self {
        Self { id: None, began: Instant::now(), ended: None, expected, came: Came::default() }
    }

    /// How long it took.
    pub(crate) fn took(&self) -> Option<Duration> {
        Some(self.ended?.at - self.began)
    }

    /// Another's failure has changed what came of it.
    pub(crate) fn is_disturbed(&self) -> bool {
        let ending = self.ended.map(|end| end.ending);
        match self.expected {
            None => false,
            Some(Expected::Answer(came)) => {
                ending != Some(TurnEnding::Answered) || self.came != came
            }
            Some(Expected::Undisturbed) => {
                !matches!(ending, Some(TurnEnding::Answered | TurnEnding::Stopped))
            }
        }
    }
}

impl Expected {
    /// What comes of a plan in which nothing goes wrong.
    pub(crate) fn of(plan: &TurnPlan) -> Self {
        let is_denied = |act, reply| act == Act::Erase && reply == Reply::No;
        let denied = plan.calls().filter(|call| is_denied(call.act, call.reply)).count();
        Self::Answer(Came { ok: plan.calls().count() - denied, denied, other: 0 })
    }
}

impl Came {
    fn add(&mut self, outcome: Option<&Word>) {
        match outcome {
            Some(Word::Ok) => self.ok += 1,
            Some(Word::Cancelled("denied")) => self.denied += 1,
            Some(Word::Error(_) | Word::Cancelled(_)) | None => self.other += 1,
        }
    }
}

impl Word {
    pub(crate) fn of(outcome: &ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Ok(_) => Self::Ok,
            ToolOutcome::Err(error) => Self::Error(error.code.to_string()),
            ToolOutcome::Cancelled(cancelled) => Self::Cancelled(cancelled.reason.name()),
        }
    }

    /// Its name in a report.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Ok => "ok",
            Self::Error(code) => code,
            Self::Cancelled(reason) => reason,
        }
    }
}
