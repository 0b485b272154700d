//! What a run is to do, drawn from its seed and nothing else: who chats, in which lives, and what befalls them.

use std::time::Duration;

use madang::OnDismiss;

use crate::{
    dice::Dice,
    test_runtime::{Act, TurnPlan},
};

/// A session and its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionPlan {
    pub(super) user: &'static str,
    pub(super) name: String,
}

/// One life of the runtime: from its start to its end, or to its death.
#[derive(Debug, Clone)]
pub(super) struct LifePlan {
    /// What each session is used for, one visit after the other.
    pub(super) visits: Vec<Vec<Visit>>,
    /// After so long it dies with all that runs; without, it is shut down when everybody is done.
    pub(super) dies_after: Option<Duration>,
    /// Which actors are killed, each so long after what came before.
    pub(super) kills: Vec<(Duration, Victim)>,
}

/// One turn of a person.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) plan: TurnPlan,
    /// What the person does before.
    pub(super) before: Before,
    pub(super) pause: Duration,
    /// Submitted under a key, twice.
    pub(super) is_repeated: bool,
    /// The person leaves after so long.
    pub(super) leaves_after: Option<Duration>,
    pub(super) on_dismiss: OnDismiss,
}

/// What a person does before a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    /// Clears the chat.
    Clears,
    /// Ends the standing approvals.
    Revokes,
}

/// Which actor is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    Session(usize),
    Confirm,
    Dispatcher,
    Store,
    Llm,
}

/// Turns of all sessions in one life.
const TURNS_A_LIFE: u64 = 24;

/// Draws who chats: two to five sessions of up to three users.
pub(super) fn sessions(dice: &mut Dice, at_most: usize) -> Vec<SessionPlan> {
    let count = (2 + dice.index(4)).min(at_most.max(1));
    let session = |number| SessionPlan {
        user: ["kim", "lee", "park"][dice.index(3)],
        name: format!("chat {number}"),
    };
    (0..count).map(session).collect()
}

impl LifePlan {
    /// Draws a life of at most so many turns.
    pub(super) fn draw(dice: &mut Dice, life: u64, sessions: usize, turns: u64) -> Self {
        let mut visits = vec![Vec::new(); sessions];
        for number in 0..turns.min(TURNS_A_LIFE) {
            let name = format!("{life}.{number}");
            visits[dice.index(sessions)].push(Visit::draw(dice, &name));
        }
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
    fn draw(dice: &mut Dice, name: &str) -> Self {
        Self {
            plan: TurnPlan::draw(dice, name, &Act::ALL),
            before: match dice.below(24) {
                0 | 1 => Before::Clears,
                2 => Before::Revokes,
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
        }
    }
}
