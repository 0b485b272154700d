//! Reads the keyboard while a question is open: single keys, silences between them, and the end of
//! the terminal.
//!
//! `Keyboard::take` switches the terminal to single keys. On Unix it returns the text that was
//! typed ahead; elsewhere that is dropped. `Keyboard::listen` starts a thread that sends [`Heard`]
//! events. `unix` reads the terminal itself; `elsewhere` uses the events of crossterm.
//!
//! Invariants:
//! - A silence is [`SILENCE`] without a key. A key says whether one preceded it.
//! - Dropping the keyboard or its listener restores the terminal, and ends the thread.
//! - At most [`MAX_WAITING`] events wait while the program draws.

#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(not(unix))]
#[path = "elsewhere.rs"]
mod system;

use std::time::Duration;

pub(super) use system::{Keyboard, Listening};
use tokio::time::Instant;

/// The silence before a key counts: longer than the pauses of a typing person.
pub(super) const SILENCE: Duration = Duration::from_millis(700);

/// The keys that are kept while the program draws.
const MAX_WAITING: usize = 64;

/// An event of the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// No key was pressed for a silence.
    Silence { at: Instant },
    /// Text that was typed at once, and whether a silence preceded it.
    Typed { text: String, at: Instant, was_silent: bool },
}
