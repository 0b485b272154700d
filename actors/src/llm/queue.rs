//! The completions that wait for a model: bounded, and fair between users.

use std::collections::{HashMap, VecDeque};

use tokio::time::Instant;

use crate::protocol::UserId;

/// Waiting jobs. Users take turns; the jobs of one user keep their order.
#[derive(Debug)]
pub(super) struct Queue<J> {
    by_user: HashMap<UserId, VecDeque<Waiting<J>>>,
    /// Users with waiting jobs, next first. Invariant: each user of `by_user` once, and its jobs are not empty.
    turns: VecDeque<UserId>,
    len: usize,
    max_len: usize,
}

#[derive(Debug)]
struct Waiting<J> {
    job: J,
    due: Instant,
}

impl<J> Queue<J> {
    pub(super) fn new(max_len: usize) -> Self {
        Self { by_user: HashMap::new(), turns: VecDeque::new(), len: 0, max_len }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Takes a job that must be begun by `due`, or gives it back if too many wait.
    pub(super) fn push(&mut self, user: UserId, due: Instant, job: J) -> Result<(), J> {
        if self.len >= self.max_len {
            return Err(job);
        }
        let jobs = self.by_user.entry(user.clone()).or_default();
        if jobs.is_empty() {
            self.turns.push_back(user);
        }
        jobs.push_back(Waiting { job, due });
        self.len += 1;
        Ok(())
    }

    /// The job whose turn it is.
    pub(super) fn next(&mut self) -> Option<J> {
        let user = self.turns.pop_front()?;
        let jobs = self.by_user.get_mut(&user)?;
        let next = jobs.pop_front()?;
        if jobs.is_empty() {
            self.by_user.remove(&user);
        } else {
            self.turns.push_back(user);
        }
        self.len -= 1;
        Some(next.job)
    }

    /// Takes out every job that is due, or that nobody wants any more.
    pub(super) fn take_out(&mut self, now: Instant, is_unwanted: impl Fn(&J) -> bool) -> Vec<J> {
        let mut taken = Vec::new();
        for jobs in self.by_user.values_mut() {
            let (out, keep) =
                jobs.drain(..).partition(|waiting| waiting.due <= now || is_unwanted(&waiting.job));
            let out: VecDeque<Waiting<J>> = out;
            *jobs = keep;
            taken.extend(out.into_iter().map(|waiting| waiting.job));
        }
        self.by_user.retain(|_, jobs| !jobs.is_empty());
        self.turns.retain(|user| self.by_user.contains_key(user));
        self.len -= taken.len();
        taken
    }

    /// When the first job is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.by_user.values().flatten().map(|waiting| waiting.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn user(name: &str) -> UserId {
        UserId::new(name).unwrap()
    }

    fn drain(queue: &mut Queue<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.next()).collect()
    }

    #[test]
    fn users_take_turns_whatever_one_of_them_piles_up() {
        let mut queue = Queue::new(10);
        let due = Instant::now();
        for (name, job) in
            [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("b", "b2")]
        {
            queue.push(user(name), due, job).unwrap();
        }
        assert_eq!(drain(&mut queue), ["a1", "b1", "c1", "a2", "b2", "a3"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn a_full_queue_gives_the_job_back() {
        let mut queue = Queue::new(1);
        queue.push(user("a"), Instant::now(), "first").unwrap();
        assert_eq!(queue.push(user("b"), Instant::now(), "second"), Err("second"));
    }

    #[test]
    fn due_and_unwanted_jobs_are_taken_out_and_the_rest_keeps_its_order() {
        let mut queue = Queue::new(10);
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        for (name, due, job) in
            [("a", now, "due"), ("a", later, "a"), ("b", later, "unwanted"), ("c", later, "c")]
        {
            queue.push(user(name), due, job).unwrap();
        }
        let mut taken = queue.take_out(now, |job| *job == "unwanted");
        taken.sort_unstable();
        assert_eq!(taken, ["due", "unwanted"]);
        assert_eq!(queue.next_due(), Some(later));
        assert_eq!(drain(&mut queue), ["a", "c"]);
    }
}
