//! A power cut: what was written and not synced may be there, in part, in any order, or not at all.
//!
//! [`Recording`] is a file layer of SQLite that writes down what is written and synced while a runtime serves chats.
//! [`Disk`] builds from it what a disk might hold after a cut, and [`Trial`] opens that and compares it with what had
//! been acknowledged by then.

mod disk;
mod recording;
mod trial;
mod vfs;

pub use disk::{Cut, Disk};
pub use recording::{Event, Recording};
pub use trial::{CutFigures, Synced, Trial};
