//! ConfirmActor: open questions and their deadlines. It runs nothing.

mod actor;
mod msg;
mod pending;
#[cfg(test)]
mod tests;

pub use actor::ConfirmActor;
pub use msg::{ConfirmMsg, Verdict};
