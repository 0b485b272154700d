//! The root of the tree: starts, watches, restarts. It knows nothing of chat.

mod actor;
mod exit;
mod inspect;
mod restart;
#[cfg(test)]
mod tests;

pub use actor::{Children, Health, RuntimeHandles, StartError, Supervisor, SupervisorMsg};
pub use inspect::{InspectRuntime, InspectSession};
