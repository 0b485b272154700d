//! Plans a run from its seed before anything runs, and gives the required result of a turn without
//! a fault.

use super::options::Stress;
use crate::{
    dice::Dice,
    workload::{Act, Answers, Mishap, TurnPlan, Victim, Visit},
};

/// The acts of tools in a turn without a fault.
const CALM: [Act; 5] = [Act::Save, Act::Save, Act::Erase, Act::Mail, Act::Look];

/// The acts of tools that are faults.
const BROKEN: [Act; 6] =
    [Act::Panic, Act::Breach, Act::Fail, Act::PanickingMail, Act::SlowMail, Act::Gone];

/// The number of faulty calls of which one is slow. One of twice as many keeps the transaction, and
/// all others wait for it.
const SLOW: u64 = 32;

/// Rounds with calls: the answer is one more, and four are allowed.
const ROUNDS: usize = 3;

/// The events of a turn among which a mishap happens: some turns are over before.
const EVENTS: u64 = 6;

/// The turns, on average, for each kill of an actor that all sessions share, at a hundred percent
/// of chaos.
const TURNS_A_KILL: usize = 50;

/// The most such kills in a run: each takes the turns with it that need the actor just then.
const MAX_KILLS: usize = 12;

impl Stress {
    /// Draws the visits to each session, the same for the same seed. Without texts the people say
    /// their plans.
    #[must_use]
    pub fn visits(&self, texts: Option<&[&str]>) -> Vec<Vec<Visit>> {
        let mut dice = Dice::new(self.seed);
        let mut visit = |session: usize, turn: usize| match texts {
            None => {
                let text = planned(self, &mut dice, &format!("{session}.{turn}"));
                visit(self, &mut dice, &text)
            }
            Some(texts) => {
                // No two texts of a session are the same.
                let text = texts[(session + turn) % texts.len()];
                visit(self, &mut dice, &format!("{text}{}", ".".repeat(turn / texts.len())))
            }
        };
        (0..self.sessions)
            .map(|session| (0..self.turns).map(|turn| visit(session, turn)).collect())
            .collect()
    }

    /// Draws the kills of actors that all sessions share, each with the number of turns that have
    /// begun by then.
    pub(super) fn kills(&self) -> Vec<(usize, Victim)> {
        let turns = self.sessions * self.turns;
        let count = turns * usize::from(self.chaos) / 100 / TURNS_A_KILL;
        let actors = [Victim::Dispatcher, Victim::Confirm, Victim::Llm, Victim::Store];
        let mut dice = Dice::new(self.seed);
        let kill = |number| (dice.index(turns), actors[number % actors.len()]);
        let mut kills: Vec<_> = (0..count.min(MAX_KILLS)).map(kill).collect();
        kills.sort_by_key(|(turn, _)| *turn);
        kills
    }
}

/// Draws the plan of a turn: a line for each round.
fn planned(stress: &Stress, dice: &mut Dice, name: &str) -> String {
    let word = |number: usize, act: Act| format!("{}:{name}.{number}", act.name());
    let call = |dice: &mut Dice| match happens(dice, stress.chaos) {
        false => *dice.pick(&CALM),
        true => match dice.below(2 * SLOW) {
            0 => Act::Hang,
            1 | 2 => Act::SlowSave,
            _ => *dice.pick(&BROKEN),
        },
    };
    let calls: Vec<_> = (0..stress.tools).map(|number| word(number, call(dice))).collect();
    let in_a_round = stress.tools.div_ceil(ROUNDS).max(1);
    let mut rounds: Vec<_> = calls.chunks(in_a_round).map(|calls| calls.join(" ")).collect();
    if happens(dice, stress.chaos) {
        rounds.push(word(stress.tools, *dice.pick(&[Act::ModelFails, Act::ModelPanics])));
    } else if calls.is_empty() {
        rounds.push(word(0, Act::Answer));
    }
    rounds.join("\n")
}

fn visit(stress: &Stress, dice: &mut Dice, text: &str) -> Visit {
    let answers = if happens(dice, stress.dismiss) {
        Answers::Leaves
    } else if happens(dice, stress.chaos) {
        Answers::Disputed
    } else {
        *dice.pick(&[Answers::Yes, Answers::Yes, Answers::Yes, Answers::No])
    };
    let mishap = if happens(dice, stress.dismiss) {
        Some((dice.below(EVENTS), Mishap::Leaves))
    } else {
        happens(dice, stress.chaos).then(|| (dice.below(EVENTS), Mishap::ActorDies))
    };
    let is_repeated = happens(dice, stress.chaos);
    Visit { insists: true, is_repeated, mishap, ..Visit::of(text, answers) }
}

fn happens(dice: &mut Dice, percent: u8) -> bool {
    dice.below(100) < u64::from(percent)
}

/// The required result of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// Any result, because the turn has a fault.
    Whatever,
    /// An answer, after these outcomes.
    Answer(Came),
    /// Any end except a failure or a dismissal, because the answer of a real model is not known
    /// before.
    Undisturbed,
}

/// Outcomes of the calls of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Came {
    pub(super) ok: usize,
    pub(super) denied: usize,
    pub(super) other: usize,
}

impl Expected {
    /// Reads the required result of a visit. A second submit changes nothing, and a slow handler is
    /// no fault.
    pub(super) fn of(visit: &Visit) -> Self {
        let is_planned = matches!(visit.answers, Answers::Yes | Answers::No);
        let Some(plan) = TurnPlan::read(&visit.text) else {
            let is_calm = visit.mishap.is_none() && is_planned;
            return if is_calm { Self::Undisturbed } else { Self::Whatever };
        };
        let mut came = Came::default();
        for step in plan.steps() {
            match step.act {
                Act::Save | Act::Mail | Act::Look | Act::SlowSave => came.ok += 1,
                Act::Erase if visit.answers == Answers::Yes => came.ok += 1,
                Act::Erase if visit.answers == Answers::No => came.denied += 1,
                Act::Answer => {}
                Act::Erase
                | Act::Breach
                | Act::Panic
                | Act::SpoilingSave
                | Act::SlowMail
                | Act::PanickingMail
                | Act::Gone
                | Act::Fail
                | Act::Hang
                | Act::ModelFails
                | Act::ModelPanics => return Self::Whatever,
            }
        }
        if visit.mishap.is_none() { Self::Answer(came) } else { Self::Whatever }
    }
}
