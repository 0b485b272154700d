//! How actors talk to each other: addresses that survive a restart, questions with a deadline, replies that cannot be
//! lost.

mod address;
mod alarm;
mod recipient;
mod reply;

pub use address::{Address, AskError};
pub(crate) use alarm::Alarm;
pub use recipient::Recipient;
pub use reply::{Reply, answer};
