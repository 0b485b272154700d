//! Hooks into a runtime for tests: actors to kill, and counts of what runs and what is taken.

use madang_actors::{
    protocol::Bound,
    supervisor::{InspectRuntime, InspectSession, RuntimeHandles},
};
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Reaches into a runtime, for tests of supervision and for harnesses.
pub trait RuntimeHooks: InspectRuntime {
    /// Returns the addresses of the actors, which a test may kill.
    fn actors(&self) -> &RuntimeHandles {
        self.inspect_actors()
    }

    /// Counts the calls and writes that run.
    fn running_tasks(&self) -> usize {
        self.inspect_tasks().len()
    }

    /// Counts as one more of them until the token is dropped: a shutdown waits for it.
    fn task(&self) -> TaskTrackerToken {
        self.inspect_tasks().token()
    }

    /// Returns how much of a bound is taken in all. [`Bound::WaitingMessages`] belongs to each session alone and is 0 here.
    fn held(&self, bound: Bound) -> usize {
        self.inspect_actors().calls.admission.held(bound)
    }
}

impl<R: InspectRuntime> RuntimeHooks for R {}

/// Reaches into a session, for tests of supervision and for harnesses.
pub trait SessionHooks: InspectSession {
    /// Kills the session's actor, as a fault would, if it is awake. The ledger keeps what its
    /// handlers did, the session wakes, and its turn goes on.
    fn kill(&self) {
        if let Some(actor) = self.inspect_slot().awake() {
            actor.kill();
        }
    }
}

impl<S: InspectSession> SessionHooks for S {}
