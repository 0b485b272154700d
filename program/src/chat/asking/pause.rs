//! Measures the time without a key, from the moment at which the last page of the question was
//! readable.
//!
//! The keyboard also reports a silence while a slow terminal still draws a page. That silence, and
//! a key after it, came before the person saw the page.

use tokio::time::Instant;

use super::keyboard::SILENCE;

#[derive(Debug)]
pub(super) struct Pause {
    shown: Instant,
    /// The moment at which a silence that began before the page will count.
    pub(super) due: Option<Instant>,
}

impl Pause {
    /// Starts when a page was shown.
    pub(super) const fn shown(now: Instant) -> Self {
        Self { shown: now, due: None }
    }

    /// Tells whether a silence counts; if not, it counts when it is [due](Self::due).
    pub(super) fn silence(&mut self, at: Instant) -> bool {
        let counts = self.counts(at);
        self.due = (!counts).then(|| self.shown + SILENCE);
        counts
    }

    /// Tells whether the silence before a key counts.
    pub(super) fn key(&mut self, at: Instant, was_silent: bool) -> bool {
        self.due = None;
        was_silent && self.counts(at)
    }

    fn counts(&self, at: Instant) -> bool {
        at >= self.shown + SILENCE
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_heard_while_a_page_was_drawn_is_no_silence_behind_it() {
        let shown = Instant::now();
        let little = Duration::from_millis(1);
        let mut pause = Pause::shown(shown);
        // The terminal drew the page for longer than a silence.
        assert!(!pause.silence(shown - little));
        assert_eq!(pause.due, Some(shown + SILENCE));
        assert!(!pause.key(shown + SILENCE - little, true));
        assert_eq!(pause.due, None, "a key ends it");
        assert!(pause.key(shown + SILENCE, true));
        assert!(!pause.key(shown + SILENCE, false));
        assert!(pause.silence(shown + SILENCE));
        assert_eq!(pause.due, None);
    }
}
