//! How actors talk to each other: addresses that survive a restart, questions with a deadline,
//! replies that cannot be lost.
//!
//! An [`Address`] leads to an actor and to the next one after a restart. [`Address::ask`] waits for
//! an answer until a deadline. A [`Recipient`] receives events without the sender knowing its type.
//! A [`Reply`] is the duty to answer once.
//!
//! Invariants:
//! - A [`Reply`] that is dropped unsent reports to its caller that it was lost, so no caller waits
//!   forever.
//! - Sending an event never blocks.

mod address;
mod alarm;
mod recipient;
mod reply;

pub use address::{Address, AskError};
pub(crate) use alarm::Alarm;
pub use recipient::Recipient;
pub use reply::{Reply, answer};
