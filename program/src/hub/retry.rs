//! Decides how often and how soon a failed request is repeated.

use std::time::Duration;

/// The first wait; each further one doubles.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait, even if the hub asks for more, because a person waits at the program.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The bytes after which a connection counts as a success. With less, a server that breaks off
/// after each byte would be asked forever.
const PROGRESS_BYTES: u64 = 1 << 20;

/// Counts failures in a row.
#[derive(Debug)]
pub(super) struct Retry {
    most: u32,
    failed: u32,
}

impl Retry {
    /// Gives up after one failure, since the caller has another way.
    pub(super) fn once() -> Self {
        Self { most: 0, failed: 0 }
    }

    /// Repeats for less than two seconds, so that a user without a network learns it soon.
    pub(super) fn asking() -> Self {
        Self { most: 3, failed: 0 }
    }

    /// Repeats for a quarter of a minute during a download, for a network that returns.
    pub(super) fn downloading() -> Self {
        Self { most: 6, failed: 0 }
    }

    /// Takes the bytes that the failed attempt received, and the wait that the hub asks for.
    /// Returns the wait before the next attempt; `None` to give up.
    pub(super) fn failed(
        &mut self,
        gained_bytes: u64,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        if gained_bytes >= PROGRESS_BYTES {
            self.failed = 0;
        }
        if self.failed >= self.most || asked.is_some_and(|asked| asked > LONGEST_WAIT) {
            return None;
        }
        let usual = FIRST_WAIT.saturating_mul(1 << self.failed.min(16));
        self.failed += 1;
        Some(asked.unwrap_or_default().max(usual).min(LONGEST_WAIT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_until_it_is_given_up() {
        let mut retry = Retry::downloading();
        let waits = std::iter::from_fn(|| retry.failed(0, None));
        let waits: Vec<u128> = waits.map(|wait| wait.as_millis()).collect();
        assert_eq!(waits, [250, 500, 1_000, 2_000, 4_000, 8_000]);
        assert_eq!(Retry::once().failed(0, None), None);
    }

    #[test]
    fn what_brought_much_begins_anew_and_what_brought_little_does_not() {
        let mut retry = Retry::downloading();
        for _ in 0..1_000 {
            assert_eq!(retry.failed(PROGRESS_BYTES, None), Some(FIRST_WAIT));
        }
        let little = (0..1_000).take_while(|_| retry.failed(1, None).is_some()).count();
        assert_eq!(little, 5);
    }

    #[test]
    fn the_hub_may_ask_for_a_longer_wait_but_not_for_any() {
        let ask = |seconds| Retry::asking().failed(0, Some(Duration::from_secs(seconds)));
        assert_eq!(ask(0), Some(FIRST_WAIT));
        assert_eq!(ask(7), Some(Duration::from_secs(7)));
        assert_eq!(ask(61), None);
    }
}
