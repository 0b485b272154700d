//! Hooks into a runtime for tests: actors to kill, and counts of what runs and what is held.

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

    /// Returns how many calls and writes run.
    fn running_tasks(&self) -> usize {
        self.inspect_tasks().len()
    }

    /// Counts as one more of them until the token is dropped. A shutdown waits for it.
    fn task(&self) -> TaskTrackerToken {
        self.inspect_tasks().token()
    }

    /// Returns how much of a bound is held in all. It returns 0 for [`Bound::WaitingMessages`],
    /// which each session counts alone.
    fn held(&self, bound: Bound) -> usize {
        self.inspect_actors().calls.admission.held(bound)
    }
}

impl<R: InspectRuntime> RuntimeHooks for R {}

/// Reaches into a session, for tests of supervision and for harnesses.
pub trait SessionHooks: InspectSession {
    /// Kills the session's actor, as a fault would, if it is awake. The ledger keeps what its
    /// handlers did. The session wakes again, and its turn continues.
    fn kill(&self) {
        if let Some(actor) = self.inspect_slot().awake() {
            actor.kill();
        }
    }
}

impl<S: InspectSession> SessionHooks for S {}
