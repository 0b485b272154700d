//! The LlmActor: one model, a fair bounded queue in front of it. It does not know what a tool does.
//!
//! A caller hands a completion to the [`ModelQueue`], which begins it at once where no other waits. The actor begins
//! those that wait. The queue lives outside the actor, so an actor's restart loses no waiting completion.

mod actor;
mod completion_job;
mod model_queue;
mod msg;
mod queue;
mod retry_estimator;
#[cfg(test)]
mod tests;

pub use actor::LlmActor;
pub use model_queue::{ModelQueue, QueuedCompletion};
pub use msg::{LlmEvent, LlmMsg};
