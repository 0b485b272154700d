//! The ConfirmActor: open questions, their deadlines and their answers. It runs no call.
//!
//! A call sends its question as [`ConfirmMsg::Ask`] and waits for a [`QuestionVerdict`]. A person's answer comes through [`answer()`],
//! which checks edited arguments against the tool and makes a [`CheckedAnswer`]. The actor gives it to the waiting call,
//! which records the decision and then tells the person that it counts. A question without an answer expires.
//!
//! Invariants:
//! - Exactly one answer to a question wins, and it counts only once it is recorded.
//! - An answer counts for its question's user and digest only: another user or another text is refused.
//! - The table of questions is pure. If the actor dies, each call asks its question again.

mod actor;
mod answer;
mod msg;
mod pending;
mod submit;
#[cfg(test)]
mod tests;

pub use actor::ConfirmActor;
pub use answer::{CheckedAnswer, CheckedDecision};
pub use msg::{ConfirmMsg, QuestionVerdict};
pub use submit::answer;
