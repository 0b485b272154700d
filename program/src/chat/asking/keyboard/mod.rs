//! The keyboard while a question is open: keys one by one, the silences between them, and the end of the terminal.

#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(not(unix))]
#[path = "elsewhere.rs"]
mod system;

use std::time::Duration;

pub(super) use system::{Keyboard, Listening};
use tokio::time::Instant;

/// So long no key may be pressed before one counts: longer than the pauses of a typing person.
pub(super) const SILENCE: Duration = Duration::from_millis(700);

/// More keys than this are not kept while the program is busy drawing.
const MAX_WAITING: usize = 64;

/// What is heard of a keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// For as long as is needed no key was pressed.
    Silence { at: Instant },
    /// These were pressed at once, and whether the silence was heard before them.
    Typed { text: String, at: Instant, was_silent: bool },
}
