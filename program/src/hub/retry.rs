//! How often and how soon something is tried again that failed and may not the next time.

use std::time::Duration;

/// The first wait; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// No wait is longer, also where the hub asks for it: a person sits before the program.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A connection that brought so much was no failure to begin with. Less, and a server that breaks off after each byte
/// would be asked for ever.
const PROGRESS_BYTES: u64 = 1 << 20;

/// Counts failures in a row.
#[derive(Debug)]
pub(super) struct Retry {
    most: u32,
    failed: u32,
}

/// What comes after a failure.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Once more, after this long.
    Again(Duration),
    /// It is told.
    GiveUp,
}

impl Retry {
    /// For what there is another way out of.
    pub(super) fn once() -> Self {
        Self { most: 0, failed: 0 }
    }

    /// For the first question: less than two seconds of waiting, so that a user without a network hears so soon.
    pub(super) fn asking() -> Self {
        Self { most: 3, failed: 0 }
    }

    /// In mid-download: a quarter of a minute, for a network that comes back.
    pub(super) fn downloading() -> Self {
        Self { most: 6, failed: 0 }
    }

    /// Takes what the failed attempt had brought, and how long the hub asks to wait.
    pub(super) fn failed(&mut self, gained_bytes: u64, asked: Option<Duration>) -> Next {
        if gained_bytes >= PROGRESS_BYTES {
            self.failed = 0;
        }
        if self.failed >= self.most || asked.is_some_and(|asked| asked > LONGEST_WAIT) {
            return Next::GiveUp;
        }
        let usual = FIRST_WAIT.saturating_mul(1 << self.failed.min(16));
        self.failed += 1;
        Next::Again(asked.unwrap_or_default().max(usual).min(LONGEST_WAIT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_until_it_is_given_up() {
        let mut retry = Retry::downloading();
        let waits: Vec<u128> = std::iter::from_fn(|| match retry.failed(0, None) {
            Next::Again(wait) => Some(wait.as_millis()),
            Next::GiveUp => None,
        })
        .collect();
        assert_eq!(waits, [250, 500, 1_000, 2_000, 4_000, 8_000]);
        assert_eq!(Retry::once().failed(0, None), Next::GiveUp);
    }

    #[test]
    fn what_brought_much_begins_anew_and_what_brought_little_does_not() {
        let mut retry = Retry::downloading();
        for _ in 0..1_000 {
            assert_eq!(retry.failed(PROGRESS_BYTES, None), Next::Again(FIRST_WAIT));
        }
        let little = (0..1_000).take_while(|_| retry.failed(1, None) != Next::GiveUp).count();
        assert_eq!(little, 5);
    }

    #[test]
    fn the_hub_may_ask_for_a_longer_wait_but_not_for_any() {
        let ask = |seconds| Retry::asking().failed(0, Some(Duration::from_secs(seconds)));
        assert_eq!(ask(0), Next::Again(FIRST_WAIT));
        assert_eq!(ask(7), Next::Again(Duration::from_secs(7)));
        assert_eq!(ask(61), Next::GiveUp);
    }
}
