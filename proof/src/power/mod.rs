//! A power cut: bytes that were written but not synced may remain completely, in part, in any
//! order, or not at all.
//!
//! - [`Recording`] records writes and syncs of a file layer of SQLite (`vfs`) while a runtime
//!   serves chats. The oracle's lines stand between them.
//! - [`Disk`] replays the record up to a moment, and builds a possible disk after a cut.
//! - [`Trial`] opens that disk, and compares it with all facts that were acknowledged before the
//!   cut. After some cuts a runtime starts on it and brings all chats to rest.
//!
//! Invariants:
//! - At `synchronous=FULL` no acknowledged fact is lost. The same trial must find losses at
//!   `NORMAL` and damage at `OFF`, otherwise it proves nothing.
//! - A sector of 512 bytes is written whole or not at all, and a torn write damages nothing beside
//!   it.

mod disk;
mod recording;
mod trial;
mod vfs;

pub use disk::{Cut, Disk};
pub use recording::{Event, FileEvent, Recording};
pub use trial::{CutFigures, Synced, Trial};
