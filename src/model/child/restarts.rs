//! Decides when the next child starts after one has ended.

use std::time::Duration;

use tokio::time::Instant;

/// The delay before a child starts: none after a healthy child, otherwise growing.
#[derive(Debug)]
pub(super) struct Restarts {
    first_delay: Duration,
    longest_delay: Duration,
    healthy_after: Duration,
    /// Children in a row that ended before they were healthy.
    ended: u32,
    /// The latest children in a row that did not load the model.
    unloaded: u32,
    loaded_at: Option<Instant>,
}

/// Children in a row that may die while they load. Then waiting callers get an error, and the next
/// child starts only for a request.
const UNLOADED: u32 = 3;

impl Restarts {
    pub(super) fn new(
        first_delay: Duration,
        longest_delay: Duration,
        healthy_after: Duration,
    ) -> Self {
        Self { first_delay, longest_delay, healthy_after, ended: 0, unloaded: 0, loaded_at: None }
    }

    /// Notes that the child has loaded the model.
    pub(super) fn loaded(&mut self, now: Instant) {
        self.loaded_at = Some(now);
        self.unloaded = 0;
    }

    /// Notes the child's end, and returns the delay before the next start.
    pub(super) fn ended(&mut self, now: Instant) -> Duration {
        let Some(loaded_at) = self.loaded_at.take() else {
            self.unloaded = self.unloaded.saturating_add(1);
            return self.delay();
        };
        if now.saturating_duration_since(loaded_at) >= self.healthy_after {
            self.ended = 0;
        }
        self.delay()
    }

    /// Returns whether the next child will probably fail to load the model too.
    pub(super) const fn is_hopeless(&self) -> bool {
        self.unloaded >= UNLOADED
    }

    fn delay(&mut self) -> Duration {
        let before = self.ended;
        self.ended = before.saturating_add(1);
        let Some(doublings) = before.checked_sub(1) else { return Duration::ZERO };
        let delay = self.first_delay.saturating_mul(2_u32.saturating_pow(doublings));
        delay.min(self.longest_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn delays_grow_up_to_the_longest_and_a_healthy_run_resets_them() {
        let begin = Instant::now();
        let mut restarts = Restarts::new(100 * MS, 1_000 * MS, 5_000 * MS);
        let mut delays = Vec::new();
        for lived in [0, 10, 4_999, 0, 0, 0, 5_000, 0] {
            restarts.loaded(begin);
            delays.push(restarts.ended(begin + lived * MS).as_millis());
        }
        assert_eq!(delays, [0, 100, 200, 400, 800, 1_000, 0, 100]);
    }

    #[test]
    fn some_children_in_a_row_that_die_while_they_load_are_hopeless() {
        let now = Instant::now();
        let mut restarts = Restarts::new(100 * MS, 1_000 * MS, 5_000 * MS);
        let mut hopeless = Vec::new();
        for does_load in [false, false, true, false, false, false, true] {
            if does_load {
                restarts.loaded(now);
            }
            restarts.ended(now);
            hopeless.push(restarts.is_hopeless());
        }
        assert_eq!(hopeless, [false, false, false, false, false, true, false]);
    }
}
