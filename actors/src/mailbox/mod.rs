//! What actors share about talking to each other: where somebody is, how to ask, whom to tell.

mod address;
mod alarm;
mod recipient;
mod reply;

pub use address::{Address, AskError};
pub(crate) use alarm::Alarm;
pub use recipient::Recipient;
pub use reply::{Reply, answer};
