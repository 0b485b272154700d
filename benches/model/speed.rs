//! How fast something was, by the clock and by the processor.

use std::time::Duration;

use cpu_time::ProcessTime;
use tokio::time::Instant;

use crate::threads;

/// Tokens a second. That of the processor means something with `threads=1` only, since threads wait for each other by
/// spinning; then it is as good on a machine on which others are busy.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Speed {
    wall: f64,
    processor: f64,
}

impl Speed {
    pub(crate) fn of(tokens: usize, took: Taken) -> Self {
        Self { wall: per_second(tokens, took.wall), processor: per_second(tokens, took.processor) }
    }

    /// The better of two trials.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { wall: self.wall.max(other.wall), processor: self.processor.max(other.processor) }
    }

    /// How many times as fast, by the clock.
    pub(crate) fn share(self, other: Self) -> f64 {
        self.wall / other.wall
    }

    /// The same in words.
    pub(crate) fn to(self, other: Self) -> String {
        let (wall, processor) = (self.share(other), self.processor / other.processor);
        if threads().get() == 1 {
            format!("{wall:.3} ({processor:.3} by the processor)")
        } else {
            format!("{wall:.3}")
        }
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} tokens/s", self.wall)
    }
}

/// A moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taking {
    pub(crate) wall: Instant,
    pub(crate) processor: ProcessTime,
}

/// How long something took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) wall: Duration,
    pub(crate) processor: Duration,
}

impl Taking {
    pub(crate) fn begin() -> Self {
        Self { wall: Instant::now(), processor: ProcessTime::now() }
    }

    pub(crate) fn taken(self) -> Taken {
        Taken { wall: self.wall.elapsed(), processor: self.processor.elapsed() }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
fn per_second(tokens: usize, time: Duration) -> f64 {
    tokens as f64 / time.as_secs_f64()
}
