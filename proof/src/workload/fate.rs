//! The source of chance: each step of a store, model, tool or person asks it how long to wait and whether to fail.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use madang::{Clock, Timestamp};
use madang_actors::port::SystemClock;
use tokio::{
    task::yield_now,
    time::{Instant, sleep},
};

use super::{Death, Point, trace::Trace};
use crate::dice::Dice;

/// When every simulation begins.
const MORNING: i64 = 1_700_000_000_000;

/// In real time people wait so many times less.
const HURRY: u32 = 64;

/// The only source of chance of a run, its clock, and the one place where it is traced. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Fate(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    dice: Dice,
    time: Time,
    /// Nothing fails and no step waits.
    is_calm: bool,
    dies: Option<Death>,
}

/// What the clock of a run is.
#[derive(Debug)]
enum Time {
    /// The machine's. Nothing is traced.
    Real,
    /// It stands while anything can happen, and jumps to what is due next.
    Paused {
        trace: Box<Trace>,
        /// How long the lives before this one took.
        before: Duration,
        /// When this life began; `None` between two lives, where nothing is traced.
        began: Option<Instant>,
    },
}

/// What a step does before it is taken.
enum Pause {
    None,
    Yields(u64),
    Sleeps(Duration),
}

impl Fate {
    /// Draws everything from a seed on a paused clock, and keeps so many of the last lines of the trace.
    pub(crate) fn paused(seed: u64, keeps: usize) -> Self {
        let (before, began) = (Duration::ZERO, None);
        Self::new(
            seed,
            Time::Paused { trace: Box::new(Trace::keeping(keeps)), before, began },
            None,
        )
    }

    /// Lives in real time, in which no step fails or waits, and dies at a point, if at any.
    #[must_use]
    pub fn real(seed: u64, dies: Option<Death>) -> Self {
        Self::new(seed, Time::Real, dies)
    }

    fn new(seed: u64, time: Time, dies: Option<Death>) -> Self {
        let is_calm = matches!(time, Time::Real);
        Self(Arc::new(Mutex::new(State { dice: Dice::new(seed), time, is_calm, dies })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no code under this lock panics")
    }

    /// A life begins at this moment of its own clock.
    pub(crate) fn begin(&self, calm: bool) {
        let State { time, is_calm, .. } = &mut *self.state();
        if let Time::Paused { began, .. } = time {
            (*began, *is_calm) = (Some(Instant::now()), calm);
        }
    }

    /// A life ends: what its ruins still do is not traced.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        let since = state.since();
        if let Time::Paused { before, began, .. } = &mut state.time {
            (*before, *began) = (since + Duration::from_millis(1), None);
        }
    }

    /// Draws a number below this one.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.state().dice.below(bound)
    }

    /// Draws whether something goes wrong that does once in so many times.
    pub(crate) fn fails_once_in(&self, times: u64) -> bool {
        let mut state = self.state();
        !state.is_calm && state.dice.once_in(times)
    }

    /// Waits as a person does.
    pub(crate) async fn waits(&self, time: Duration) {
        let is_real = matches!(self.state().time, Time::Real);
        sleep(if is_real { time / HURRY } else { time }).await;
    }

    /// Waits as a model does: others ask it meanwhile.
    pub(crate) async fn thinks(&self) {
        let is_real = matches!(self.state().time, Time::Real);
        if is_real { sleep(Duration::from_millis(1)).await } else { self.pause().await }
    }

    /// Waits until everything must have been heard.
    pub(crate) async fn listens(&self) {
        let is_real = matches!(self.state().time, Time::Real);
        sleep(Duration::from_millis(if is_real { 100 } else { 10_000 })).await;
    }

    /// Traces what happens.
    pub(crate) fn note(&self, what: fmt::Arguments<'_>) {
        let mut state = self.state();
        let since = state.since();
        if let Time::Paused { trace, began: Some(_), .. } = &mut state.time {
            trace.note(since, what);
        }
    }

    /// Traces that a point is passed, and dies there, if it is time.
    pub(crate) fn pass(&self, point: Point, what: fmt::Arguments<'_>) {
        self.note(what);
        if let Some(death) = &mut self.state().dies {
            death.pass(point);
        }
    }

    /// Lets the failpoints that this thread passes wait as fate wants, until the thread is given back.
    #[cfg(feature = "failpoints")]
    pub(crate) fn steer(&self) {
        use madang_actors::failpoint::{Action, steer};
        let fate = self.clone();
        steer(Some(Box::new(move |name| {
            fate.note(format_args!("at {name}"));
            let mut state = fate.state();
            let is_living = matches!(state.time, Time::Paused { began: Some(_), .. });
            let waits = is_living && !state.is_calm && state.dice.once_in(16);
            waits.then(|| Action::Delay(Duration::from_millis(state.dice.below(4))))
        })));
    }

    /// Waits as long as was drawn for a step: not at all, for some others, or for some time.
    pub(crate) async fn pause(&self) {
        let pause = self.state().pause();
        match pause {
            Pause::None => {}
            Pause::Yields(times) => {
                for _ in 0..times {
                    yield_now().await;
                }
            }
            Pause::Sleeps(time) => sleep(time).await,
        }
    }

    /// Gives the hash of the trace, how many lines it has, and the last of them.
    pub(crate) fn traced(&self) -> (u64, u64, Vec<String>) {
        match &self.state().time {
            Time::Real => (0, 0, Vec::new()),
            Time::Paused { trace, .. } => (trace.hash(), trace.lines(), trace.tail()),
        }
    }
}

impl Clock for Fate {
    fn now(&self) -> Timestamp {
        let state = self.state();
        match state.time {
            Time::Real => SystemClock.now(),
            Time::Paused { .. } => Timestamp::from_millis(MORNING).after(state.since()),
        }
    }
}

impl State {
    /// How long the run has taken, over all lives.
    fn since(&self) -> Duration {
        match &self.time {
            Time::Real => Duration::ZERO,
            Time::Paused { before, began, .. } => {
                *before + began.map_or(Duration::ZERO, |began| began.elapsed())
            }
        }
    }

    fn pause(&mut self) -> Pause {
        match (self.is_calm, self.dice.below(400)) {
            (true, _) | (_, 0..200) => Pause::None,
            (_, 200..300) => Pause::Yields(1 + self.dice.below(4)),
            (_, 300..398) => Pause::Sleeps(Duration::from_millis(self.dice.below(6))),
            // Longer than most deadlines.
            _ => Pause::Sleeps(Duration::from_millis(self.dice.below(3_000))),
        }
    }
}
