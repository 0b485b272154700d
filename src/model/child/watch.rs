//! Decides whether a child hangs. It counts pings, not time, so that no child is blamed for a
//! stopped program or a sleeping machine.

use std::time::Duration;

/// Pings since the last signs of life and of progress.
#[derive(Debug)]
pub(super) struct Watch {
    bounds: Bounds,
    /// Pings since the last message.
    silent: u32,
    /// Pings since the last progress on a request.
    still: u32,
    /// Pings since the start, until the model is loaded.
    loading: Option<u32>,
    progress: Option<u64>,
}

/// The pings that may pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    silent: u32,
    still: u32,
    loading: u32,
}

/// A way to hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Hang {
    #[error("gave no sign of life any more and was ended")]
    Silent,
    #[error("got no further with what it was asked and was ended")]
    Still,
    #[error("did not load the model in time and was ended")]
    Loading,
}

impl Bounds {
    pub(super) fn new(
        ping_every: Duration,
        silent: Duration,
        still: Duration,
        loading: Duration,
    ) -> Self {
        let pings = |bound: Duration| {
            let pings = bound.as_nanos().div_ceil(ping_every.as_nanos().max(1));
            u32::try_from(pings).unwrap_or(u32::MAX).max(1)
        };
        Self { silent: pings(silent), still: pings(still), loading: pings(loading) }
    }
}

impl Watch {
    /// Watches a child that was just started.
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds, silent: 0, still: 0, loading: Some(0), progress: None }
    }

    /// Notes a message.
    pub(super) const fn heard(&mut self) {
        self.silent = 0;
    }

    /// Notes that the model is loaded.
    pub(super) const fn loaded(&mut self) {
        self.loading = None;
    }

    /// Notes that a completion made progress.
    pub(super) const fn went_on(&mut self) {
        self.still = 0;
    }

    /// Notes how much the child has done so far.
    pub(super) fn progress(&mut self, progress: Option<u64>) {
        if self.progress != progress {
            self.progress = progress;
            self.still = 0;
        }
    }

    /// Counts a ping that is due, unless the child hangs.
    pub(super) fn ping(&mut self, is_busy: bool) -> Option<Hang> {
        self.silent += 1;
        self.still = if is_busy { self.still + 1 } else { 0 };
        if let Some(pings) = &mut self.loading {
            *pings += 1;
        }
        if self.silent > self.bounds.silent {
            Some(Hang::Silent)
        } else if self.still > self.bounds.still {
            Some(Hang::Still)
        } else if self.loading.is_some_and(|pings| pings > self.bounds.loading) {
            Some(Hang::Loading)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allows two silent pings, four without progress, six while it loads.
    fn watch() -> Watch {
        let [every, silent, still, loading] = [10, 20, 40, 60].map(Duration::from_millis);
        Watch::new(Bounds::new(every, silent, still, loading))
    }

    #[test]
    fn a_child_that_answers_no_ping_hangs() {
        let mut watch = watch();
        let verdicts: Vec<_> = (0..3).map(|_| watch.ping(false)).collect();
        assert_eq!(verdicts, [None, None, Some(Hang::Silent)]);
    }

    #[test]
    fn a_child_that_answers_but_gets_no_further_hangs_only_while_it_is_asked_something() {
        let mut watch = watch();
        watch.loaded();
        let mut ping = |is_busy, progress| {
            watch.heard();
            watch.progress(progress);
            watch.ping(is_busy)
        };
        assert!((0..100).all(|_| ping(false, Some(7)).is_none()), "no request runs");
        assert!((0..100).all(|count| ping(true, Some(count)).is_none()), "it goes on");
        let verdicts: Vec<_> = (0..5).map(|_| ping(true, Some(100))).collect();
        assert_eq!(verdicts, [None, None, None, None, Some(Hang::Still)]);
    }

    #[test]
    fn streaming_is_progress_where_the_model_does_not_count() {
        let mut watch = watch();
        watch.loaded();
        for _ in 0..100 {
            watch.heard();
            watch.went_on();
            assert_eq!(watch.ping(true), None);
        }
    }

    #[test]
    fn loading_has_a_bound_of_its_own() {
        let mut watch = watch();
        let verdicts: Vec<_> = (0..7)
            .map(|_| {
                watch.heard();
                watch.ping(false)
            })
            .collect();
        assert_eq!(verdicts[..6], [None; 6]);
        assert_eq!(verdicts[6], Some(Hang::Loading));
    }
}
