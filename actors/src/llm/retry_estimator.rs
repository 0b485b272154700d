//! Estimates when a slot will be free for a caller that is refused now, from the time that
//! completions took lately.

use std::time::Duration;

/// How long completions take.
#[derive(Debug, Default)]
pub(super) struct RetryEstimator {
    average: Option<Duration>,
    /// Refusals since a slot last came free. The next caller receives a later time, or all would
    /// come for the same slot.
    refused: u32,
}

/// The latest completion counts as one part of so many in the average.
const LATEST: u32 = 8;

impl RetryEstimator {
    /// Notes that a completion ended and took so long.
    pub(super) fn ended(&mut self, took: Duration) {
        let average = self.average.unwrap_or(took);
        self.average = Some(average - average / LATEST + took / LATEST);
        self.refused = self.refused.saturating_sub(1);
    }

    /// Notes that a caller came and found none waiting: there is a slot for each caller again.
    pub(super) fn has_room(&mut self) {
        self.refused = 0;
    }

    /// Refuses a caller while this many run, and returns the time after which to come again.
    /// Returns `None` before any completion has ended.
    pub(super) fn refuses(&mut self, running: usize) -> Option<Duration> {
        self.refused = self.refused.saturating_add(1);
        let running = u32::try_from(running.max(1)).unwrap_or(u32::MAX);
        // A slot in the queue comes free with each completion that ends.
        self.average.map(|average| average.saturating_mul(self.refused) / running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn before_a_completion_has_ended_there_is_no_estimate() {
        assert_eq!(RetryEstimator::default().refuses(4), None);
    }

    #[test]
    fn each_refused_caller_is_told_a_later_moment_until_slots_come_free() {
        let mut retries = RetryEstimator::default();
        retries.ended(seconds(8));
        assert_eq!([retries.refuses(4), retries.refuses(4)], [Some(seconds(2)), Some(seconds(4))]);
        retries.ended(seconds(8));
        retries.ended(seconds(8));
        assert_eq!(retries.refuses(4), Some(seconds(2)));
    }

    #[test]
    fn a_caller_refused_long_ago_does_not_count() {
        let mut retries = RetryEstimator::default();
        retries.ended(seconds(8));
        for _ in 0..10_000 {
            retries.refuses(4);
        }
        retries.has_room();
        assert_eq!(retries.refuses(4), Some(seconds(2)));
    }

    #[test]
    fn what_was_lately_counts_most() {
        let mut retries = RetryEstimator::default();
        retries.ended(seconds(8));
        retries.ended(seconds(16));
        assert_eq!(retries.refuses(1), Some(seconds(9)));
    }
}
