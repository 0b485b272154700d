//! The end of a child, in Madang's own types: the only file that reads ractor's supervision events
//! of children.

use ractor::{ActorCell, SupervisionEvent};

/// The end of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChildExit {
    /// The child was stopped or drained.
    Stopped,
    /// The child was killed. ractor reports this only by a text, which a test pins.
    Killed,
    /// The child panicked or returned an error. ractor does not say which.
    Failed { why: String },
}

/// Finds the child that ended, and how. Returns `None` for other events.
pub(super) fn child_exit(event: SupervisionEvent) -> Option<(ActorCell, ChildExit)> {
    match event {
        SupervisionEvent::ActorTerminated(cell, _, Some(reason)) if reason == "killed" => {
            Some((cell, ChildExit::Killed))
        }
        SupervisionEvent::ActorTerminated(cell, _, _) => Some((cell, ChildExit::Stopped)),
        SupervisionEvent::ActorFailed(cell, error) => {
            Some((cell, ChildExit::Failed { why: error.to_string() }))
        }
        SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => None,
    }
}
