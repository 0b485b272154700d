//! What harnesses may touch of a runtime that applications may not: its actors and its tasks.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::RuntimeHandles;
use crate::session::SessionSlot;

/// Shows the actors and the tasks of a runtime. The library hands this name on to no application: `madang-testing` builds
/// what tests use on it.
pub trait InspectRuntime {
    /// Returns the addresses of the actors.
    fn inspect_actors(&self) -> &RuntimeHandles;

    /// Returns the calls and writes that run.
    fn inspect_tasks(&self) -> &TaskTracker;
}

/// Shows what stands behind the handle of a session, as [`InspectRuntime`] does for a runtime.
pub trait InspectSession {
    /// Returns what leads to the session's actor.
    fn inspect_slot(&self) -> &Arc<SessionSlot>;
}
