//! The parts of a runtime that test harnesses may reach and applications may not: its actors and its tasks.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::RuntimeHandles;
use crate::session::SessionSlot;

/// Shows the actors and the tasks of a runtime, with the feature `testing` alone. `madang-testing` builds on it.
pub trait InspectRuntime {
    /// Gives the addresses of the actors.
    fn inspect_actors(&self) -> &RuntimeHandles;

    /// Gives the running calls and writes.
    fn inspect_tasks(&self) -> &TaskTracker;
}

/// Shows what is behind the handle of a session, as [`InspectRuntime`] does for a runtime.
pub trait InspectSession {
    /// Gives the slot that leads to the session's actor.
    fn inspect_slot(&self) -> &Arc<SessionSlot>;
}
