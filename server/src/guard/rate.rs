//! Limits how often a caller may come: the generic cell rate algorithm, in a bounded map.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
    time::Duration,
};

/// The rates of many callers. The caller passes in the moment, counted from any beginning.
#[derive(Debug)]
pub(crate) struct Rates<K> {
    interval: Duration,
    burst: Duration,
    max_remembered: usize,
    /// The moment at which each caller's debt is paid.
    paid: HashMap<K, Duration>,
    by_moment: BTreeSet<(Duration, K)>,
}

impl<K: Clone + Ord + Hash> Rates<K> {
    /// Admits `count` in each period, and `burst` of them at once. Remembers at most
    /// `max_remembered` callers.
    pub(crate) fn new(count: u32, period: Duration, burst: u32, max_remembered: usize) -> Self {
        let interval = period / count.max(1);
        Self {
            interval,
            burst: interval * burst.max(1),
            max_remembered: max_remembered.max(1),
            paid: HashMap::new(),
            by_moment: BTreeSet::new(),
        }
    }

    /// Admits a caller now.
    ///
    /// # Errors
    /// Returns how long the caller must wait. A refusal costs the caller nothing.
    pub(crate) fn come(&mut self, caller: &K, now: Duration) -> Result<(), Duration> {
        let paid = self.paid.get(caller).copied();
        let debt = paid.unwrap_or_default().max(now) + self.interval;
        if let Some(wait) = debt.checked_sub(now + self.burst).filter(|wait| !wait.is_zero()) {
            return Err(wait);
        }
        if let Some(before) = paid {
            self.by_moment.remove(&(before, caller.clone()));
        } else if self.paid.len() >= self.max_remembered
            && let Some((_, oldest)) = self.by_moment.pop_first()
        {
            // The caller whose debt is paid first has the least to lose by being forgotten.
            self.paid.remove(&oldest);
        }
        self.by_moment.insert((debt, caller.clone()));
        self.paid.insert(caller.clone(), debt);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_burst_comes_at_once_and_then_one_each_interval() {
        let mut rates = Rates::new(2, SECOND, 3, 8);
        let at = |millis| Duration::from_millis(millis);
        for _ in 0..3 {
            assert_eq!(rates.come(&"kim", at(0)), Ok(()));
        }
        assert_eq!(rates.come(&"kim", at(0)), Err(at(500)));
        assert_eq!(rates.come(&"kim", at(499)), Err(at(1)));
        assert_eq!(rates.come(&"kim", at(500)), Ok(()), "a refusal cost nothing");
        assert_eq!(rates.come(&"kim", at(500)), Err(at(500)));
        assert_eq!(rates.come(&"lee", at(500)), Ok(()), "each has its own rate");
        for _ in 0..3 {
            assert_eq!(rates.come(&"kim", at(60_000)), Ok(()));
        }
        assert_eq!(rates.come(&"kim", at(60_000)), Err(at(500)));
    }

    #[test]
    fn the_map_has_a_bound_and_the_oldest_goes_first() {
        let mut rates = Rates::new(1, SECOND, 1, 2);
        let at = |seconds| SECOND * seconds;
        assert_eq!(rates.come(&1, at(0)), Ok(()));
        assert_eq!(rates.come(&2, at(0) + SECOND / 2), Ok(()));
        assert_eq!(rates.come(&3, at(0) + SECOND / 2), Ok(()));
        assert_eq!((rates.paid.len(), rates.by_moment.len()), (2, 2));
        assert_eq!(rates.come(&2, at(1)), Err(SECOND / 2), "this one is remembered");
        assert_eq!(rates.come(&1, at(0) + SECOND / 2), Ok(()), "the oldest was forgotten");
        for caller in 10..1_000 {
            assert_eq!(rates.come(&caller, at(2)), Ok(()));
            assert_eq!((rates.paid.len(), rates.by_moment.len()), (2, 2));
        }
    }
}
