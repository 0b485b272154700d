//! Since when no key was pressed, counted from the moment in which the last page of the question was there to be read.
//!
//! The keyboard hears a silence also while a page is still being drawn, on a terminal that takes it slowly. That silence,
//! and a key behind it, came before the page was seen.

use tokio::time::Instant;

use super::keyboard::SILENCE;

#[derive(Debug)]
pub(super) struct Pause {
    shown: Instant,
    /// When a silence that began before the page was shown has lasted long enough.
    pub(super) due: Option<Instant>,
}

impl Pause {
    /// A page was shown.
    pub(super) const fn shown(now: Instant) -> Self {
        Self { shown: now, due: None }
    }

    /// A silence was heard: whether it counts. Otherwise it will when it is [due](Self::due).
    pub(super) fn silence(&mut self, at: Instant) -> bool {
        let counts = self.counts(at);
        self.due = (!counts).then(|| self.shown + SILENCE);
        counts
    }

    /// A key was pressed: whether the silence before it counts.
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
        // The terminal took the page for longer than a silence lasts.
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
