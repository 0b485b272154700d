//! What a run is to do, drawn from its seed and nothing else: who chats, in which lives, and what befalls them.

use std::time::Duration;

use madang::OnDismiss;

use super::{Act, TurnPlan};
use crate::dice::Dice;

/// A session and its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPlan {
    pub(crate) user: String,
    pub(crate) name: String,
}

/// One life of the runtime: from its start to its end, or to its death.
#[derive(Debug, Clone)]
pub struct LifePlan {
    /// What each session is used for, one visit after the other.
    pub visits: Vec<Vec<Visit>>,
    /// After so long it dies with all that runs; without, it is shut down when everybody is done.
    pub(crate) dies_after: Option<Duration>,
    /// Which actors are killed, each so long after what came before.
    pub(crate) kills: Vec<(Duration, Victim)>,
}

/// One turn of a person.
#[derive(Debug, Clone)]
pub struct Visit {
    /// What is said: the plan of the turn, where the model follows plans.
    pub(crate) text: String,
    /// What the person does before.
    pub(crate) before: Before,
    pub(crate) pause: Duration,
    /// Submitted under a key, twice.
    pub(crate) is_repeated: bool,
    /// Submitted under a key, until the turn has begun and its end was heard.
    pub(crate) insists: bool,
    /// The person leaves after so long.
    pub(crate) leaves_after: Option<Duration>,
    pub(crate) on_dismiss: OnDismiss,
    pub(crate) answers: Answers,
    /// The person leaves once a slow handler has begun.
    pub(crate) leaves_handler: bool,
    /// What happens once so many events of the turn were heard.
    pub(crate) mishap: Option<(u64, Mishap)>,
}

/// What a person says when asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answers {
    /// What fate wants.
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

/// What happens in the midst of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// The person leaves.
    Leaves,
    /// The session's actor is killed.
    ActorDies,
}

/// What a person does before a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    /// Clears the chat.
    Clears,
    /// Ends the standing approvals.
    Revokes,
    /// Finds out what became of unknown effects.
    Resolves,
}

/// Which actor is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Session(usize),
    Confirm,
    Dispatcher,
    Store,
    Llm,
}

impl SessionPlan {
    /// Draws so many sessions of up to three users.
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
        Self { visits, dies_after: None, kills: Vec::new() }
    }

    /// Draws the turns of a life, and what befalls it.
    pub(crate) fn draw(dice: &mut Dice, life: u64, sessions: usize, turns: u64) -> Self {
        let Self { visits, .. } = Self::turns(dice, life, sessions, turns);
        let dies = dice.once_in(2);
        let dies_after = dies.then(|| Duration::from_millis(dice.below(4_000)));
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
        Self { visits, dies_after, kills }
    }
}

impl Visit {
    /// A visit with this text, and with this answer to every question.
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
        Self {
            text: TurnPlan::draw(dice, name, &Act::DRAWN).to_string(),
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
            insists: false,
            leaves_after: dice.once_in(6).then(|| Duration::from_millis(dice.below(60))),
            on_dismiss: if dice.once_in(3) { OnDismiss::Finish } else { OnDismiss::Stop },
            answers: Answers::Any,
            leaves_handler: false,
            mishap: None,
        }
    }
}
