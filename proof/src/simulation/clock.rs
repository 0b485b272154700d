//! The time of day of a run: it stands while anything can happen, and jumps to what is due next.

use madang::{Clock, Timestamp};

use super::fate::Fate;

/// When every run begins.
pub(super) const MORNING: i64 = 1_700_000_000_000;

/// Tells the time of the paused clock.
#[derive(Debug)]
pub(super) struct PausedClock(pub(super) Fate);

impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(MORNING).after(self.0.now())
    }
}
