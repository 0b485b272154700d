//! The seeded scheduler: each step of a store, model, tool or person asks it how long to wait and whether to fail.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use tokio::{
    task::yield_now,
    time::{Instant, sleep},
};

use super::trace::Trace;
use crate::dice::Dice;

/// The only source of chance of a run, and the one place where it is traced. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Fate(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    dice: Dice,
    trace: Trace,
    /// How long the lives before this one took.
    before: Duration,
    /// When this life began; `None` between two lives, where nothing is traced.
    began: Option<Instant>,
    /// Nothing fails and nothing waits.
    is_calm: bool,
}

/// What a step does before it is taken.
enum Pause {
    None,
    Yields(u64),
    Sleeps(Duration),
}

impl Fate {
    pub(super) fn new(seed: u64, keeps: usize) -> Self {
        let (dice, trace) = (Dice::new(seed), Trace::keeping(keeps));
        let (before, began, is_calm) = (Duration::ZERO, None, false);
        Self(Arc::new(Mutex::new(State { dice, trace, before, began, is_calm })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no code under this lock panics")
    }

    /// A life begins at this moment of its own clock.
    pub(super) fn begin(&self, is_calm: bool) {
        let mut state = self.state();
        (state.began, state.is_calm) = (Some(Instant::now()), is_calm);
    }

    /// A life ends: what its ruins still do is not traced.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.before = state.now() + Duration::from_millis(1);
        state.began = None;
    }

    /// Tells the time since the run began, over all lives.
    pub(super) fn now(&self) -> Duration {
        self.state().now()
    }

    /// Draws a number below this one.
    pub(super) fn below(&self, bound: u64) -> u64 {
        self.state().dice.below(bound)
    }

    /// Draws whether something goes wrong that does once in so many times.
    pub(super) fn fails_once_in(&self, times: u64) -> bool {
        let mut state = self.state();
        !state.is_calm && state.dice.once_in(times)
    }

    /// Traces what happens.
    pub(super) fn note(&self, what: fmt::Arguments<'_>) {
        let mut state = self.state();
        if state.began.is_some() {
            let now = state.now();
            state.trace.note(now, what);
        }
    }

    /// Lets the failpoints that this thread passes wait as fate wants, until the thread is given back.
    #[cfg(feature = "failpoints")]
    pub(super) fn steer(&self) {
        use madang_actors::failpoint::{Action, steer};
        let fate = self.clone();
        steer(Some(Box::new(move |name| {
            fate.note(format_args!("at {name}"));
            let mut state = fate.state();
            let waits = state.began.is_some() && !state.is_calm && state.dice.once_in(16);
            waits.then(|| Action::Delay(Duration::from_millis(state.dice.below(4))))
        })));
    }

    /// Traces a step, and waits as long as was drawn: not at all, for some others, or for some time.
    pub(super) async fn step(&self, what: impl AsRef<str> + Send) {
        self.note(format_args!("{}", what.as_ref()));
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
    pub(super) fn traced(&self) -> (u64, u64, Vec<String>) {
        let state = self.state();
        (state.trace.hash(), state.trace.lines(), state.trace.tail())
    }
}

impl State {
    fn now(&self) -> Duration {
        self.before + self.began.map_or(Duration::ZERO, |began| began.elapsed())
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
