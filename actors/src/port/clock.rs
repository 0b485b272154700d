//! The time of day. Tests use a clock of their own, and deadlines use Tokio's.

use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::protocol::Timestamp;

/// A clock that returns the time of day.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Returns the present moment.
    fn now(&self) -> Timestamp;
}

/// The operating system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // Before 1970 a clock is plainly wrong; 0 keeps the order of what follows.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
