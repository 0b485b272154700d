//! A semaphore for each key of a resource: the calls that work on it, and those that wait. Pure.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use crate::port::Resource;

/// The waiters of each key in use, and of no other. A waiter is let in through a `W`.
#[derive(Debug)]
pub(super) struct KeyedSemaphore<W> {
    by_key: BTreeMap<Arc<str>, Waiters<W>>,
    last_id: u64,
}

/// The name of a waiter from its entering to its leaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WaiterId(u64);

#[derive(Debug)]
struct Waiters<W> {
    at_work: Vec<(WaiterId, usize)>,
    waiting: VecDeque<(WaiterId, usize, W)>,
}

impl<W> KeyedSemaphore<W> {
    /// Adds a waiter for a resource. Returns the waiters that may work now: none, or this one.
    pub(super) fn enter(&mut self, resource: &Resource, waiter: W) -> (WaiterId, Vec<W>) {
        self.last_id += 1;
        let id = WaiterId(self.last_id);
        let waiters = self.by_key.entry(resource.key.clone()).or_default();
        waiters.waiting.push_back((id, resource.at_once, waiter));
        (id, waiters.let_in())
    }

    /// Removes a waiter that works or waits. Returns the waiters that may work now, in the order of
    /// their entering.
    pub(super) fn leave(&mut self, key: &str, id: WaiterId) -> Vec<W> {
        let Some(waiters) = self.by_key.get_mut(key) else { return Vec::new() };
        waiters.at_work.retain(|(of, _)| *of != id);
        waiters.waiting.retain(|(of, ..)| *of != id);
        let let_in = waiters.let_in();
        if waiters.at_work.is_empty() && waiters.waiting.is_empty() {
            self.by_key.remove(key);
        }
        let_in
    }

    /// Counts the keys in use.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }
}

impl<W> Waiters<W> {
    /// Lets waiters in, in order. If a waiter could pass another, it could keep a call that must be
    /// alone waiting forever.
    fn let_in(&mut self) -> Vec<W> {
        let mut let_in = Vec::new();
        while let Some((_, at_once, _)) = self.waiting.front() {
            let bounds = self.at_work.iter().map(|(_, at_once)| *at_once);
            if bounds.chain([*at_once]).min() <= Some(self.at_work.len()) {
                break;
            }
            let_in.extend(self.waiting.pop_front().map(|(id, at_once, waiter)| {
                self.at_work.push((id, at_once));
                waiter
            }));
        }
        let_in
    }
}

impl<W> Default for KeyedSemaphore<W> {
    fn default() -> Self {
        Self { by_key: BTreeMap::new(), last_id: 0 }
    }
}

impl<W> Default for Waiters<W> {
    fn default() -> Self {
        Self { at_work: Vec::new(), waiting: VecDeque::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(
        semaphore: &mut KeyedSemaphore<&'static str>,
        key: &str,
        at_once: usize,
        name: &'static str,
    ) -> (WaiterId, Vec<&'static str>) {
        semaphore.enter(&Resource::new(key).at_once(at_once), name)
    }

    #[test]
    fn calls_with_one_key_work_one_after_the_other_in_the_order_in_which_they_came() {
        let mut semaphore = KeyedSemaphore::default();
        let (a, let_in) = enter(&mut semaphore, "k", 1, "a");
        assert_eq!(let_in, ["a"]);
        let (b, let_in) = enter(&mut semaphore, "k", 1, "b");
        assert!(let_in.is_empty());
        let (c, _) = enter(&mut semaphore, "k", 1, "c");
        assert_eq!(enter(&mut semaphore, "other", 1, "d").1, ["d"], "another key is not concerned");
        assert_eq!(semaphore.leave("k", a), ["b"]);
        assert_eq!(semaphore.leave("k", b), ["c"]);
        assert!(semaphore.leave("k", c).is_empty());
    }

    #[test]
    fn a_waiter_that_leaves_lets_those_behind_move_up() {
        let mut semaphore = KeyedSemaphore::default();
        let (a, _) = enter(&mut semaphore, "k", 2, "a");
        let (alone, let_in) = enter(&mut semaphore, "k", 1, "alone");
        assert!(let_in.is_empty(), "one that must be alone waits for all");
        let (behind, let_in) = enter(&mut semaphore, "k", 2, "behind");
        assert!(let_in.is_empty(), "no other passes it");
        assert_eq!(semaphore.leave("k", alone), ["behind"]);
        semaphore.leave("k", a);
        semaphore.leave("k", behind);
        assert_eq!(semaphore.len(), 0);
    }

    #[test]
    fn as_many_work_at_once_as_all_of_them_allow() {
        let mut semaphore = KeyedSemaphore::default();
        let entered: Vec<_> =
            ["a", "b", "c"].map(|name| enter(&mut semaphore, "k", 2, name)).into();
        let let_in: Vec<_> = entered.iter().map(|(_, let_in)| let_in.len()).collect();
        assert_eq!(let_in, [1, 1, 0]);
        assert_eq!(semaphore.leave("k", entered[0].0), ["c"]);
        let (alone, _) = enter(&mut semaphore, "k", 1, "alone");
        semaphore.leave("k", entered[1].0);
        assert_eq!(semaphore.leave("k", entered[2].0), ["alone"]);
        let (last, let_in) = enter(&mut semaphore, "k", 2, "last");
        assert!(let_in.is_empty(), "one that must be alone stays alone");
        assert_eq!(semaphore.leave("k", alone), ["last"]);
        semaphore.leave("k", last);
        assert_eq!(semaphore.len(), 0, "no unused key is kept");
    }
}
