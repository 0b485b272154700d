//! The LlmActor: one model of the runtime, and its fair and bounded queue. It does not know what a
//! tool does.
//!
//! A caller passes a [`QueuedCompletion`] to the [`ModelQueue`], which begins it at once if none
//! waits and a slot is free. Otherwise it waits in weighted fair order, by user and then by
//! session. The actor begins the waiting ones as slots come free, and ends those that waited too
//! long. Each completion ends with exactly one [`LlmEvent`].
//!
//! Invariants:
//! - The queue lives outside of the actor, so callers find it after a restart. Completions of a
//!   dead actor end at once, and their callers are answered.
//! - A slot is free again only after the caller of its completion is answered.
//! - The queue's order is pure: virtual time counts the tokens that a user was served, by the
//!   user's weight.

mod actor;
mod completion_job;
mod model_queue;
mod models;
mod msg;
mod named_model;
mod queue;
mod retry_estimator;
#[cfg(test)]
mod tests;

pub use actor::LlmActor;
pub use model_queue::{ModelQueue, QueuedCompletion};
pub use models::Models;
pub use msg::{LlmEvent, LlmMsg};
pub use named_model::NamedModel;
