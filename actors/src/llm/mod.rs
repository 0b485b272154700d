//! LlmActor: one model, a fair bounded queue in front of it. It does not know what a tool does.

mod actor;
mod msg;
mod pace;
mod queue;
#[cfg(test)]
mod tests;

pub use actor::{LlmActor, LlmArguments};
pub use msg::{LlmEvent, LlmMsg};
