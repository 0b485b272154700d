//! The lines before resources: who works on each key, and who waits for it; pure.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use crate::port::Resource;

/// One line for each key that is used now, and none for any other. Whoever waits is let in through a `W`.
#[derive(Debug)]
pub(super) struct Lines<W> {
    by_key: HashMap<Arc<str>, Line<W>>,
    tickets: u64,
}

/// One stay in a line, from its entering to its leaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(u64);

#[derive(Debug)]
struct Line<W> {
    at_work: Vec<(Ticket, usize)>,
    waiting: VecDeque<(Ticket, usize, W)>,
}

impl<W> Lines<W> {
    /// Enters the line of a resource. Gives whoever may work now: nobody, or the `W` that entered.
    pub(super) fn enter(&mut self, resource: &Resource, waiter: W) -> (Ticket, Vec<W>) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let line = self.by_key.entry(resource.key.clone()).or_default();
        line.waiting.push_back((ticket, resource.at_once, waiter));
        (ticket, line.let_in())
    }

    /// Leaves the line, from work or from waiting. Gives whoever may work now, in the order of their entering.
    pub(super) fn leave(&mut self, key: &str, ticket: Ticket) -> Vec<W> {
        let Some(line) = self.by_key.get_mut(key) else { return Vec::new() };
        line.at_work.retain(|(of, _)| *of != ticket);
        line.waiting.retain(|(of, ..)| *of != ticket);
        let let_in = line.let_in();
        if line.at_work.is_empty() && line.waiting.is_empty() {
            self.by_key.remove(key);
        }
        let_in
    }

    /// How many keys are used now.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }
}

impl<W> Line<W> {
    /// Nobody passes whoever entered before, or a call that must be alone would wait for ever.
    fn let_in(&mut self) -> Vec<W> {
        let mut let_in = Vec::new();
        while let Some((_, at_once, _)) = self.waiting.front() {
            let bounds = self.at_work.iter().map(|(_, at_once)| *at_once);
            if bounds.chain([*at_once]).min() <= Some(self.at_work.len()) {
                break;
            }
            let_in.extend(self.waiting.pop_front().map(|(ticket, at_once, waiter)| {
                self.at_work.push((ticket, at_once));
                waiter
            }));
        }
        let_in
    }
}

impl<W> Default for Lines<W> {
    fn default() -> Self {
        Self { by_key: HashMap::new(), tickets: 0 }
    }
}

impl<W> Default for Line<W> {
    fn default() -> Self {
        Self { at_work: Vec::new(), waiting: VecDeque::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(
        lines: &mut Lines<&'static str>,
        key: &str,
        at_once: usize,
        name: &'static str,
    ) -> (Ticket, Vec<&'static str>) {
        lines.enter(&Resource::new(key).at_once(at_once), name)
    }

    #[test]
    fn calls_with_one_key_work_one_after_the_other_in_the_order_in_which_they_came() {
        let mut lines = Lines::default();
        let (a, let_in) = enter(&mut lines, "k", 1, "a");
        assert_eq!(let_in, ["a"]);
        let (b, let_in) = enter(&mut lines, "k", 1, "b");
        assert!(let_in.is_empty());
        let (c, _) = enter(&mut lines, "k", 1, "c");
        assert_eq!(enter(&mut lines, "other", 1, "d").1, ["d"], "another key is not concerned");
        assert_eq!(lines.leave("k", a), ["b"]);
        assert_eq!(lines.leave("k", b), ["c"]);
        assert!(lines.leave("k", c).is_empty());
    }

    #[test]
    fn whoever_gives_up_waiting_lets_those_behind_move_up() {
        let mut lines = Lines::default();
        let (a, _) = enter(&mut lines, "k", 2, "a");
        let (alone, let_in) = enter(&mut lines, "k", 1, "alone");
        assert!(let_in.is_empty(), "one that must be alone waits for all");
        let (behind, let_in) = enter(&mut lines, "k", 2, "behind");
        assert!(let_in.is_empty(), "nobody passes it");
        assert_eq!(lines.leave("k", alone), ["behind"]);
        lines.leave("k", a);
        lines.leave("k", behind);
        assert_eq!(lines.len(), 0);
    }

    #[test]
    fn as_many_work_at_once_as_all_of_them_allow() {
        let mut lines = Lines::default();
        let entered: Vec<_> = ["a", "b", "c"].map(|name| enter(&mut lines, "k", 2, name)).into();
        let let_in: Vec<_> = entered.iter().map(|(_, let_in)| let_in.len()).collect();
        assert_eq!(let_in, [1, 1, 0]);
        assert_eq!(lines.leave("k", entered[0].0), ["c"]);
        let (alone, _) = enter(&mut lines, "k", 1, "alone");
        lines.leave("k", entered[1].0);
        assert_eq!(lines.leave("k", entered[2].0), ["alone"]);
        let (last, let_in) = enter(&mut lines, "k", 2, "last");
        assert!(let_in.is_empty(), "one that must be alone stays alone");
        assert_eq!(lines.leave("k", alone), ["last"]);
        lines.leave("k", last);
        assert_eq!(lines.len(), 0, "no key is kept that nobody uses");
    }
}
