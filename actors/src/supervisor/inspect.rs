//! The parts of a runtime that test harnesses may reach and applications may not: its actors and
//! its tasks.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::RuntimeHandles;
use crate::session::SessionSlot;

/// Shows the actors and the tasks of a runtime, with the feature `testing` only. `madang-testing`
/// builds on it.
pub trait InspectRuntime {
    /// Returns the addresses of the actors.
    fn inspect_actors(&self) -> &RuntimeHandles;

    /// Returns the running calls and writes.
    fn inspect_tasks(&self) -> &TaskTracker;
}

/// Shows the slot of a session, as [`InspectRuntime`] shows the actors of a runtime.
pub trait InspectSession {
    /// Returns the slot that leads to the session's actor.
    fn inspect_slot(&self) -> &Arc<SessionSlot>;
}
