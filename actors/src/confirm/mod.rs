//! ConfirmActor: open questions and their deadlines. It runs nothing.

mod actor;
mod answer;
mod msg;
mod pending;
#[cfg(test)]
mod tests;

pub use actor::ConfirmActor;
pub use answer::{CheckedAnswer, CheckedDecision, answer};
pub use msg::{ConfirmMsg, Verdict};
