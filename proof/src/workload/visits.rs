//! Plans a run from its seed and nothing else: users, their sessions, the lives of the runtime, and
//! what befalls them.

use std::time::Duration;

use madang::OnDismiss;

use super::{Act, TurnPlan};
use crate::dice::Dice;

/// A session and its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPlan {
    /// The user that owns it.
    pub user: String,
    /// Its id.
    pub name: String,
}

/// One life of the runtime: from its start to its end, or to its death.
#[derive(Debug, Clone)]
pub struct LifePlan {
    /// The visits to each session, one after the other.
    pub visits: Vec<Vec<Visit>>,
    /// The end of the life.
    pub(crate) end: LifeEnd,
    /// The actors that are killed, each with the time since the kill before.
    pub(crate) kills: Vec<(Duration, Victim)>,
}

/// The end of a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifeEnd {
    /// The runtime is shut down after the last visit.
    AtRest,
    /// The runtime is shut down after this time, while people still ask, answer and read.
    InOrder(Duration),
    /// The process dies after this time with all that runs.
    Dies(Duration),
}

/// One turn of a person.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The person's text: the plan of the turn, if the model follows plans.
    pub(crate) text: String,
    /// The person's act before the turn.
    pub(crate) before: Before,
    pub(crate) pause: Duration,
    /// Whether the text is submitted under a key, twice.
    pub(crate) is_repeated: bool,
    /// Whether the text is submitted under a key until the turn has begun and its end was heard.
    pub(crate) insists: bool,
    /// The time after which the person leaves.
    pub(crate) leaves_after: Option<Duration>,
    pub(crate) on_dismiss: OnDismiss,
    pub(crate) answers: Answers,
    /// Whether the person leaves once a slow handler has begun.
    pub(crate) leaves_handler: bool,
    /// A mishap, after this many events of the turn were heard.
    pub(crate) mishap: Option<(u64, Mishap)>,
}

/// A person's answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answers {
    /// The answer that fate draws.
    #[default]
    Any,
    /// Yes.
    Yes,
    /// Yes, from now on.
    Always,
    /// The same arguments, typed anew.
    Same,
    /// No.
    No,
    /// Nothing.
    Never,
    /// Leaves.
    Leaves,
    /// Yes and no at once, and yes once more.
    Disputed,
}

/// A mishap in the midst of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// The person leaves.
    Leaves,
    /// The session's actor is killed.
    ActorDies,
}

/// An act of a person before a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    /// Begins the chat with a history.
    #[cfg(feature = "failpoints")]
    Imports,
    /// Clears the chat.
    Clears,
    /// Ends the standing approvals.
    Revokes,
    /// Resolves unknown effects.
    Resolves,
}

/// The actor to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Session(usize),
    Confirm,
    Dispatcher,
    Store,
    Llm,
}

impl SessionPlan {
    /// Draws this many sessions of up to three users.
    #[must_use]
    pub fn draw(dice: &mut Dice, count: usize) -> Vec<Self> {
        let session = |number| Self {
            user: ["kim", "lee", "park"][dice.index(3)].to_owned(),
            name: format!("chat {number}"),
        };
        (0..count).map(session).collect()
    }
}

impl LifePlan {
    /// Draws the turns of a life.
    #[must_use]
    pub fn turns(dice: &mut Dice, life: u64, sessions: usize, turns: u64) -> Self {
        let mut visits = vec![Vec::new(); sessions];
        for number in 0..turns {
            let name = format!("{life}.{number}");
            visits[dice.index(sessions)].push(Visit::draw(dice, &name));
        }
        Self { visits, end: LifeEnd::AtRest, kills: Vec::new() }
    }

    /// Draws the turns of a life, and what befalls it.
    pub(crate) fn draw(dice: &mut Dice, life: u64, sessions: usize, turns: u64) -> Self {
        let Self { visits, .. } = Self::turns(dice, life, sessions, turns);
        let soon = |dice: &mut Dice| Duration::from_millis(dice.below(4_000));
        let end = match dice.below(4) {
            0 => LifeEnd::AtRest,
            1 => LifeEnd::InOrder(soon(dice)),
            _ => LifeEnd::Dies(soon(dice)),
        };
        let kills = (0..dice.below(5)).map(|_| {
            let wait = Duration::from_millis(dice.below(800));
            let victim = match dice.below(8) {
                0..4 => Victim::Session(dice.index(sessions)),
                4 => Victim::Confirm,
                5 => Victim::Dispatcher,
                6 => Victim::Store,
                _ => Victim::Llm,
            };
            (wait, victim)
        });
        let kills = kills.collect();
        Self { visits, end, kills }
    }
}

impl Visit {
    /// Makes a visit with this text, and with this answer to every question.
    pub(crate) fn of(text: &str, answers: Answers) -> Self {
        Self {
            text: text.to_owned(),
            before: Before::Nothing,
            pause: Duration::ZERO,
            is_repeated: false,
            insists: false,
            leaves_after: None,
            on_dismiss: OnDismiss::Stop,
            answers,
            leaves_handler: false,
            mishap: None,
        }
    }

    fn draw(dice: &mut Dice, name: &str) -> Self {
        let plan = TurnPlan::draw(dice, name, &Act::DRAWN);
        Self {
            before: match dice.below(24) {
                0 | 1 => Before::Clears,
                2 => Before::Revokes,
                3..9 => Before::Resolves,
                _ => Before::Nothing,
            },
            pause: Duration::from_millis(match dice.below(4) {
                0 | 1 => 0,
                2 => dice.below(40),
                _ => dice.below(400),
            }),
            is_repeated: dice.once_in(8),
            leaves_after: dice.once_in(6).then(|| Duration::from_millis(dice.below(60))),
            on_dismiss: if dice.once_in(3) { OnDismiss::Finish } else { OnDismiss::Stop },
            ..Self::of(&plan.to_string(), Answers::Any)
        }
    }
}
