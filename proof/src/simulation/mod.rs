//! Simulation: the whole runtime on one thread, on a clock that jumps, under a scheduler that draws from a seed.
//!
//! The store, the model, the tools, the clock and the people are made here, around the runtime's ports, and each of their
//! steps waits as long as the seed wants and fails when the seed wants. People submit twice, leave, answer late, twice and
//! for others; actors are killed; the process dies and begins again on the same store. Nothing else is random: one seed is
//! one schedule, and the hash of its trace is the same each time.
//!
//! At the end everything comes to rest in one calm life, and the audit compares what people were told and what tools did
//! with what the store has: nothing acknowledged is lost, nothing is done twice or unasked, every call has exactly one
//! outcome, and what was told is what is stored.
//!
//! Invariants: nothing here reads a clock or a random number of the machine, iterates over a map with a random order, or
//! starts a thread. Ids hold random bytes and so are traced as the order in which they appeared.

mod world;

use crate::{
    audit::Findings,
    dice::Dice,
    mistakes::Mistake,
    workload::{Fate, LifePlan, SessionPlan},
};
use world::World;

/// Turns of all sessions in one life.
const TURNS_A_LIFE: u64 = 24;

/// Turns in one world: behind them others chat on a new store. A session that wakes reads all that was said in it, and so
/// long chats would cost more than they show.
const TURNS_A_WORLD: u64 = 100;

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulation {
    /// Everything is drawn from it.
    pub seed: u64,
    /// Turns of all sessions, at least.
    pub turns: u64,
    /// Sessions, at most.
    pub sessions: usize,
    /// The mistake that is made outside of the runtime.
    pub mistake: Option<Mistake>,
    /// So many of the last lines of the trace are kept.
    pub tail: usize,
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct SimulationReport {
    /// Turns that began.
    pub turns: u64,
    /// Lives of the runtime, the last one included.
    pub lives: u64,
    /// Lives that ended in mid-work.
    pub deaths: u64,
    /// Handlers that began.
    pub handlers: u64,
    /// The hash of the trace.
    pub hash: u64,
    /// Lines of the trace.
    pub lines: u64,
    /// What is wrong.
    pub findings: Findings,
    /// The end of the trace.
    pub tail: Vec<String>,
}

impl Simulation {
    /// A run of this seed without a mistake, of which no trace is kept: what fails runs once more to show it.
    #[must_use]
    pub const fn new(seed: u64, turns: u64) -> Self {
        Self { seed, turns, sessions: usize::MAX, mistake: None, tail: 0 }
    }

    /// The same run with a mistake.
    #[must_use]
    pub const fn with(self, mistake: Mistake) -> Self {
        Self { mistake: Some(mistake), ..self }
    }

    /// Runs to the end.
    #[must_use]
    pub fn run(&self) -> SimulationReport {
        let mut dice = Dice::new(self.seed);
        let fate = Fate::paused(dice.next(), self.tail);
        let mut report = SimulationReport::default();
        for number in 0..self.turns.div_ceil(TURNS_A_WORLD) {
            let turns = TURNS_A_WORLD.min(self.turns - number * TURNS_A_WORLD);
            self.world(turns, &mut dice, &fate, &mut report);
        }
        (report.hash, report.lines, report.tail) = fate.traced();
        report
    }

    /// Runs a world to its end, and judges it.
    fn world(&self, turns: u64, dice: &mut Dice, fate: &Fate, report: &mut SimulationReport) {
        let count = (2 + dice.index(4)).min(self.sessions.max(1));
        let world = World::new(fate.clone(), SessionPlan::draw(dice, count), self.mistake);
        // A life that begins no turn at all is possible; thousands in a row are not.
        for life in 0..turns.saturating_mul(4) + 8 {
            let left = turns.saturating_sub(world.turns());
            if left == 0 {
                break;
            }
            let life = LifePlan::draw(dice, life, count, left.min(TURNS_A_LIFE));
            report.deaths += u64::from(world.live(life) == world::End::Died);
            report.lives += 1;
        }
        world.rest();
        report.lives += 1;
        report.turns += world.turns();
        report.findings.add(world.judge());
        let oracle = world.scene.witness.oracle();
        report.handlers += oracle.begun.values().map(Vec::len).sum::<usize>() as u64;
    }

    /// The shortest of this run's halves that still finds something: fewer turns, then fewer sessions.
    #[must_use]
    pub fn shrunk(&self) -> Self {
        let fails = |run: &Self| !run.run().findings.is_clean();
        let mut shortest = *self;
        while shortest.turns > 1 {
            let half = Self { turns: shortest.turns / 2, ..shortest };
            if !fails(&half) {
                break;
            }
            shortest = half;
        }
        for sessions in 1..=3 {
            let fewer = Self { sessions, ..shortest };
            if fails(&fewer) {
                return fewer;
            }
        }
        shortest
    }
}
