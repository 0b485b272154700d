//! The source of chance: each step of a store, model, tool or person asks it for a wait and for a
//! failure.

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

/// The moment at which every simulation begins, in milliseconds.
const MORNING: i64 = 1_700_000_000_000;

/// The factor by which people wait less in real time.
const HURRY: u32 = 64;

/// The only source of chance of a run, its clock, and the one place where it is traced. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub struct Fate(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    dice: Dice,
    time: Time,
    /// Whether no step fails or waits.
    is_calm: bool,
    dies: Option<Death>,
}

/// The clock of a run.
#[derive(Debug)]
enum Time {
    /// The machine's. Nothing is traced.
    Real,
    /// It stands while any task can run, and jumps to the next deadline.
    Paused {
        trace: Box<Trace>,
        /// The time that earlier lives took.
        before: Duration,
        /// The begin of this life; `None` between two lives, in which nothing is traced.
        began: Option<Instant>,
    },
}

/// The wait before a step.
enum Pause {
    None,
    Yields(u64),
    Sleeps(Duration),
}

impl Fate {
    /// Draws everything from a seed on a paused clock, and keeps this many of the last lines of the
    /// trace.
    pub(crate) fn paused(seed: u64, keeps: usize) -> Self {
        let before = Duration::ZERO;
        let began = None;
        Self::new(
            seed,
            Time::Paused { trace: Box::new(Trace::keeping(keeps)), before, began },
            None,
        )
    }

    /// Lives in real time, in which no step fails or waits, and dies at the given point, if any.
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

    /// Begins a life at the present moment of its own clock.
    pub(crate) fn begin(&self, calm: bool) {
        let State { time, is_calm, .. } = &mut *self.state();
        if let Time::Paused { began, .. } = time {
            (*began, *is_calm) = (Some(Instant::now()), calm);
        }
    }

    /// Ends a life. Tasks that still run are not traced any more.
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

    /// Draws one of these items.
    pub(crate) fn pick<'a, T>(&self, items: &'a [T]) -> &'a T {
        self.state().dice.pick(items)
    }

    /// Draws whether a step fails that fails once in this many times.
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

    /// Waits until every event must have been heard.
    pub(crate) async fn listens(&self) {
        let is_real = matches!(self.state().time, Time::Real);
        sleep(Duration::from_millis(if is_real { 100 } else { 10_000 })).await;
    }

    /// Traces an event.
    pub(crate) fn note(&self, what: fmt::Arguments<'_>) {
        let mut state = self.state();
        let since = state.since();
        if let Time::Paused { trace, began: Some(_), .. } = &mut state.time {
            trace.note(since, what);
        }
    }

    /// Traces that a point is passed, and ends the process there if it is time.
    pub(crate) fn pass(&self, point: Point, what: fmt::Arguments<'_>) {
        self.note(what);
        if let Some(death) = &mut self.state().dies {
            death.pass(point);
        }
    }

    /// Lets the failpoints that this thread passes wait as drawn, until the thread ends.
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

    /// Waits for the drawn time of a step: not at all, for some other tasks, or for some time.
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

    /// Returns the hash of the trace, the number of its lines, and the last of them.
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
    /// Returns the time of the run over all lives.
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
