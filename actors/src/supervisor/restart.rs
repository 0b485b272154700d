//! Decides whether and when a child is restarted: restart intensity with escalation, and growing
//! delays.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::exit::ChildExit;

/// The way in which a child is restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// Restarts it always, at once.
    Permanent,
    /// Restarts it always, after a delay that grows with each restart in the window, because its
    /// start is expensive.
    PermanentWithDelay,
}

/// The decision about a child that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Restarts the child.
    Restart {
        /// The time to wait before the start.
        after: Duration,
    },
    /// Leaves it, because the child was meant to end.
    Forget,
    /// Gives the child up, because it ends too often, and reports the runtime as unhealthy.
    Escalate,
}

/// The restarts of one child.
#[derive(Debug)]
pub(super) struct Restarts {
    policy: Policy,
    max_restarts: usize,
    window: Duration,
    recent: VecDeque<Instant>,
}

/// The first delay, and the longest.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(10);

impl Restarts {
    pub(super) fn new(policy: Policy, max_restarts: usize, window: Duration) -> Self {
        Self { policy, max_restarts, window, recent: VecDeque::new() }
    }

    /// Decides about a child that ended now.
    pub(super) fn on(&mut self, exit: &ChildExit, now: Instant) -> Verdict {
        if *exit == ChildExit::Stopped {
            return Verdict::Forget;
        }
        while self.recent.front().is_some_and(|at| now.duration_since(*at) >= self.window) {
            self.recent.pop_front();
        }
        if self.recent.len() >= self.max_restarts {
            return Verdict::Escalate;
        }
        let before = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        self.recent.push_back(now);
        let after = match self.policy {
            Policy::Permanent => Duration::ZERO,
            Policy::PermanentWithDelay if before == 0 => Duration::ZERO,
            Policy::PermanentWithDelay => {
                FIRST_DELAY.saturating_mul(2_u32.saturating_pow(before - 1)).min(LONGEST_DELAY)
            }
        };
        Verdict::Restart { after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> ChildExit {
        ChildExit::Failed { why: "boom".to_owned() }
    }

    #[test]
    fn a_stopped_child_is_forgotten_and_one_that_failed_or_was_killed_comes_back() {
        let mut restarts = Restarts::new(Policy::Permanent, 8, Duration::from_secs(60));
        let now = Instant::now();
        let at_once = Verdict::Restart { after: Duration::ZERO };
        assert_eq!(restarts.on(&ChildExit::Stopped, now), Verdict::Forget);
        assert_eq!(restarts.on(&failed(), now), at_once);
        assert_eq!(restarts.on(&ChildExit::Killed, now), at_once);
    }

    #[test]
    fn too_many_restarts_within_the_window_escalate_and_old_ones_do_not_count() {
        let mut restarts = Restarts::new(Policy::Permanent, 2, Duration::from_secs(60));
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let verdicts = [0, 30, 59, 61].map(|seconds| restarts.on(&failed(), at(seconds)));
        let again = Verdict::Restart { after: Duration::ZERO };
        assert_eq!(verdicts, [again, again, Verdict::Escalate, again]);
    }

    #[test]
    fn delays_grow_up_to_the_longest() {
        let mut restarts = Restarts::new(Policy::PermanentWithDelay, 20, Duration::from_secs(60));
        let now = Instant::now();
        let delays: Vec<_> = (0..10)
            .map(|_| match restarts.on(&failed(), now) {
                Verdict::Restart { after } => after.as_millis(),
                Verdict::Forget | Verdict::Escalate => 0,
            })
            .collect();
        assert_eq!(delays, [0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
    }
}
