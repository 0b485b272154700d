//! Simulation: the whole runtime on one thread, with a clock that jumps and a scheduler that draws
//! from a seed.
//!
//! The store, the model, the tools, the clock and the people stand around the runtime's ports. Each
//! of their steps waits and fails as the seed says. People submit twice, leave, answer late, twice
//! and for others. Actors are killed, and the process dies and starts again on the same store. The
//! random numbers come from the seed alone: one seed gives one schedule and one hash of its trace.
//!
//! The last life is calm and brings everything to rest. Then the audit compares the people's and
//! the tools' knowledge with the store. No acknowledged fact is lost, no effect is doubled or
//! unasked, each call has one outcome, and each event equals the store.
//!
//! [`Away`] is a run of its own on the same thread and clock. People ask for a thing that needs a
//! yes, and stay away while the process dies again and again. In [`Late`] the store's replies are
//! lost, and what it shows comes late.
//!
//! Invariants: no code here reads a clock or a random number of the machine, iterates over a map in
//! random order, or starts a thread. Ids contain random bytes, so the trace has the order of their
//! first use instead.

mod away;
mod late;
mod world;

pub use away::{Away, AwayReport};
pub use late::{Late, LateReport};

use crate::{
    audit::Findings,
    dice::Dice,
    mistakes::Mistake,
    workload::{Fate, LifePlan, SessionPlan},
};
use world::World;

/// The turns of all sessions in one life.
const TURNS_A_LIFE: u64 = 24;

/// The turns in one world, after which the next begins with a new store. A waking session reads its
/// whole chat, so long chats would cost more than they show.
const TURNS_A_WORLD: u64 = 100;

/// The options of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulation {
    /// The seed of everything.
    pub seed: u64,
    /// The least number of turns.
    pub turns: u64,
    /// The most sessions.
    pub sessions: usize,
    /// The mistake outside of the runtime.
    pub mistake: Option<Mistake>,
    /// The number of last lines of the trace that are kept.
    pub tail: usize,
}

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct SimulationReport {
    /// Turns that began.
    pub turns: u64,
    /// Lives that ended in mid-work.
    pub deaths: u64,
    /// Handlers that began.
    pub handlers: u64,
    /// The hash of the trace.
    pub hash: u64,
    /// The lines of the trace.
    pub lines: u64,
    /// The broken promises.
    pub findings: Findings,
    /// The end of the trace.
    pub tail: Vec<String>,
}

impl Simulation {
    /// Builds a run of this seed without a mistake and without a kept trace; a failed run is
    /// repeated to show its trace.
    #[must_use]
    pub const fn new(seed: u64, turns: u64) -> Self {
        Self { seed, turns, sessions: usize::MAX, mistake: None, tail: 0 }
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

    /// Runs a world to its end, and audits it.
    fn world(&self, turns: u64, dice: &mut Dice, fate: &Fate, report: &mut SimulationReport) {
        let count = (2 + dice.index(4)).min(self.sessions.max(1));
        let world = World::new(fate.clone(), SessionPlan::draw(dice, count), self.mistake);
        // One life may begin no turn; thousands in a row may not.
        for life in 0..turns.saturating_mul(4) + 8 {
            let left = turns.saturating_sub(world.turns());
            if left == 0 {
                break;
            }
            let life = LifePlan::draw(dice, life, count, left.min(TURNS_A_LIFE));
            report.deaths += u64::from(!world.live(life));
        }
        world.rest();
        report.turns += world.turns();
        report.findings.add(world.judge());
        let oracle = world.scene.witness.oracle();
        report.handlers += oracle.begun.values().map(Vec::len).sum::<usize>() as u64;
    }

    /// Halves the turns and then the sessions, as long as the run still has findings.
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
