//! A power cut: bytes that were written but not synced may remain completely, in part, in any order, or not at all.
//!
//! [`Recording`] is a file layer of SQLite that records writes and syncs while a runtime serves chats. [`Disk`] builds
//! a possible disk after a cut. [`Trial`] opens it, and compares it with all facts that were acknowledged before the
//! cut. After some cuts a runtime starts on it and brings all chats to rest.
//!
//! At `synchronous=FULL` no acknowledged fact may be lost. The same trial must find losses at `NORMAL` and damage at
//! `OFF`, otherwise it proves nothing.

mod disk;
mod recording;
mod trial;
mod vfs;

pub use disk::{Cut, Disk};
pub use recording::{Event, Recording};
pub use trial::{CutFigures, Synced, Trial};
