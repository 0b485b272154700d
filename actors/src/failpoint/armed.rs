//! The failpoint that a test arms: one at a time, for the whole process.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::Failed;

/// An action at an armed failpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Panics in the step.
    Panic,
    /// Fails the step.
    Error,
    /// Delays the step for so long.
    Delay(Duration),
    /// Ends the process at once, as a kill would.
    Kill,
}

struct Armed {
    name: String,
    action: Action,
    /// How often the failpoint is passed before it acts.
    passes: u32,
}

struct State {
    armed: Option<Armed>,
    reached: BTreeMap<&'static str, u64>,
}

static STATE: Mutex<State> = Mutex::new(State { armed: None, reached: BTreeMap::new() });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Decides what happens at a failpoint, each time that one is passed.
pub type Steer = Box<dyn FnMut(&'static str) -> Option<Action>>;

thread_local! {
    /// Decides on this thread, in place of the failpoint armed for the process.
    static STEER: RefCell<Option<Steer>> = const { RefCell::new(None) };
}

/// Lets this decide at each failpoint that this thread passes from now on. After `None` the armed
/// failpoint decides again.
pub fn steer(by: Option<Steer>) {
    STEER.set(by);
}

/// Arms this failpoint. It acts once, after it was passed this many times. It replaces the
/// failpoint that was armed before.
pub fn arm(name: &str, action: Action, passes: u32) {
    state().armed = Some(Armed { name: name.to_owned(), action, passes });
}

/// Disarms the failpoint. Returns whether it had not acted yet.
pub fn disarm() -> bool {
    state().armed.take().is_some()
}

/// Returns how often each failpoint was reached since the process began.
#[must_use]
pub fn reached() -> BTreeMap<&'static str, u64> {
    state().reached.clone()
}

/// Acts as armed for this step.
///
/// # Errors
/// [`Failed`] if [`Action::Error`] was armed.
///
/// # Panics
/// If [`Action::Panic`] was armed.
pub async fn failpoint(name: &'static str) -> Result<(), Failed> {
    let steered = STEER.with_borrow_mut(|steer| steer.as_mut().map(|steer| steer(name)));
    let Some(action) = steered.unwrap_or_else(|| state().reach(name)) else { return Ok(()) };
    match action {
        Action::Panic => panic!("the failpoint {name} was armed"),
        Action::Error => Err(Failed(name)),
        Action::Delay(time) => {
            tokio::time::sleep(time).await;
            Ok(())
        }
        Action::Kill => std::process::abort(),
    }
}

impl State {
    fn reach(&mut self, name: &'static str) -> Option<Action> {
        *self.reached.entry(name).or_default() += 1;
        let armed = self.armed.as_mut().filter(|armed| armed.name == name)?;
        if armed.passes > 0 {
            armed.passes -= 1;
            return None;
        }
        self.armed.take().map(|armed| armed.action)
    }
}
