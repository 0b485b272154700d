//! The jobs that wait for the store's writers, and which of them go into the next group. Pure.

use std::collections::VecDeque;

/// A queue before a number of writers.
#[derive(Debug)]
pub(super) struct Queue<J> {
    waiting: VecDeque<J>,
    idle_writers: usize,
    /// Whether the actor was told to start a writer, and has not looked yet.
    is_told: bool,
    max_batch_jobs: usize,
    is_closed: bool,
}

/// Tells whether the actor must be told that a job waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    /// A writer is idle and is to be started.
    Idle,
    /// Each writer is busy, or the actor was told already: the first that is free looks for waiting jobs.
    Busy,
}

impl<J> Queue<J> {
    /// Makes an empty queue whose writers are idle.
    pub(super) fn new(writers: usize, max_batch_jobs: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            idle_writers: writers.max(1),
            is_told: false,
            max_batch_jobs: max_batch_jobs.max(1),
            is_closed: false,
        }
    }

    /// Adds a job, and tells whether a writer is idle that should look for it. Gives the job back once the queue is
    /// closed.
    pub(super) fn push(&mut self, job: J) -> Result<Writers, J> {
        if self.is_closed {
            return Err(job);
        }
        self.waiting.push_back(job);
        if self.idle_writers == 0 || std::mem::replace(&mut self.is_told, true) {
            return Ok(Writers::Busy);
        }
        Ok(Writers::Idle)
    }

    /// Takes no more jobs, and gives those that wait.
    pub(super) fn close(&mut self) -> VecDeque<J> {
        self.is_closed = true;
        std::mem::take(&mut self.waiting)
    }

    /// Takes out jobs that are over, oldest first, up to the first that is not: all wait equally long.
    pub(super) fn shed(&mut self, is_over: impl Fn(&J) -> bool) -> Vec<J> {
        let mut shed = Vec::new();
        while self.waiting.front().is_some_and(&is_over) {
            shed.extend(self.waiting.pop_front());
        }
        shed
    }

    /// Counts the waiting jobs.
    pub(super) fn waiting_len(&self) -> usize {
        self.waiting.len()
    }

    /// Marks a writer as idle again; its leftover jobs go before all later ones.
    pub(super) fn written(&mut self, mut left: VecDeque<J>) {
        left.append(&mut self.waiting);
        self.waiting = left;
        self.idle_writers += 1;
    }

    /// Gives an idle writer its group: all waiting jobs, up to the bound.
    pub(super) fn next_batch(&mut self) -> Option<VecDeque<J>> {
        self.is_told = false;
        if self.idle_writers == 0 || self.waiting.is_empty() {
            return None;
        }
        self.idle_writers -= 1;
        let rest = self.waiting.split_off(self.waiting.len().min(self.max_batch_jobs));
        Some(std::mem::replace(&mut self.waiting, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_while_the_writer_is_busy_is_the_next_group() {
        let mut queue = Queue::new(1, 10);
        assert_eq!(queue.push(1), Ok(Writers::Idle));
        assert_eq!(queue.next_batch(), Some([1].into()));
        assert_eq!(queue.push(2), Ok(Writers::Busy));
        assert_eq!(queue.push(3), Ok(Writers::Busy));
        assert_eq!(queue.next_batch(), None, "one writer, one group at a time");
        queue.written(VecDeque::new());
        assert_eq!(queue.next_batch(), Some([2, 3].into()));
        queue.written(VecDeque::new());
        assert_eq!(queue.next_batch(), None, "nothing waits");
    }

    #[test]
    fn a_group_has_a_bound_and_the_rest_keeps_its_order() {
        let mut queue = Queue::new(1, 2);
        assert_eq!(queue.push(1), Ok(Writers::Idle));
        (2..=5).for_each(|job| assert_eq!(queue.push(job), Ok(Writers::Busy), "told already"));
        assert_eq!(queue.next_batch(), Some([1, 2].into()));
        queue.written(VecDeque::new());
        assert_eq!(queue.next_batch(), Some([3, 4].into()));
        queue.written([4].into());
        assert_eq!(queue.push(6), Ok(Writers::Idle));
        assert_eq!(queue.next_batch(), Some([4, 5].into()), "what was left undone comes first");
    }

    #[test]
    fn what_is_over_is_taken_out_before_any_writer_comes_to_it() {
        let mut queue = Queue::new(1, 2);
        assert_eq!(queue.push(1), Ok(Writers::Idle));
        (2..=4).for_each(|job| assert_eq!(queue.push(job), Ok(Writers::Busy), "told already"));
        assert_eq!(queue.shed(|job| *job < 3), [1, 2]);
        assert!(queue.shed(|job| *job == 4).is_empty(), "behind one that still waits");
        assert_eq!(queue.next_batch(), Some([3, 4].into()));
    }

    #[test]
    fn a_closed_queue_gives_everything_back() {
        let mut queue = Queue::new(1, 2);
        assert_eq!(queue.push(1), Ok(Writers::Idle));
        assert_eq!(queue.close(), [1]);
        assert_eq!(queue.push(2), Err(2));
        assert_eq!(queue.next_batch(), None);
    }

    #[test]
    fn as_many_groups_run_at_once_as_there_are_writers() {
        let mut queue = Queue::new(2, 1);
        assert_eq!(queue.push(1), Ok(Writers::Idle));
        (2..=3).for_each(|job| assert_eq!(queue.push(job), Ok(Writers::Busy), "told already"));
        assert_eq!(queue.next_batch(), Some([1].into()));
        assert_eq!(queue.next_batch(), Some([2].into()));
        assert_eq!(queue.next_batch(), None);
        queue.written(VecDeque::new());
        assert_eq!(queue.next_batch(), Some([3].into()));
    }
}
