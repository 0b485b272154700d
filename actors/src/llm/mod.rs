//! LlmActor: one model, a fair bounded queue in front of it. It does not know what a tool does.
//!
//! Completions are wished for at the [`Desk`], which begins with them where nobody waits; the actor attends to those who do.

mod actor;
mod desk;
mod job;
mod msg;
mod pace;
mod queue;
#[cfg(test)]
mod tests;

pub use actor::LlmActor;
pub use desk::{Desk, Wish};
pub use msg::{LlmEvent, LlmMsg};
