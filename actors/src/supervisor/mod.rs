//! The supervisor: starts, watches and restarts the actors of a runtime. It knows nothing of chat.
//!
//! [`Supervisor::start`] spawns the StoreActor, an LlmActor for each model, the ConfirmActor and
//! the DispatcherActor, and returns their addresses as [`RuntimeHandles`]. A child that panics,
//! fails or is killed is restarted at once, or after a growing delay if its start is expensive. A
//! child that ends too often within the window is given up, and [`Health`] reports it. Sessions are
//! children too, but are not restarted: a task reopens one that was in a turn, and the next use
//! reopens any other.
//!
//! Invariants:
//! - An address stays valid over a restart.
//! - A running call is linked to no child and outlives them all.
//! - Jobs that wait for the store outlive its actor.
//! - Completions of a dead LlmActor end, and their callers are answered.

mod actor;
mod child;
mod exit;
#[cfg(any(test, feature = "testing"))]
mod inspect;
mod restart;
#[cfg(test)]
mod tests;

pub use actor::{
    Health, RuntimeConfig, RuntimeHandles, StartAnew, StartError, Supervisor, Unclaimed,
};
#[cfg(any(test, feature = "testing"))]
pub use inspect::{InspectRuntime, InspectSession};
