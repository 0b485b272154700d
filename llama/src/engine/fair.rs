//! Chooses the prompt to write next: one prompt of a user at a time, for the user with the least
//! virtual time.

use std::collections::{HashMap, VecDeque};

use madang_actors::protocol::UserId;

/// The waiting jobs by user.
#[derive(Debug)]
pub(super) struct Fair<J> {
    users: HashMap<UserId, User<J>>,
    /// The virtual time of the user whose prompt was taken last. A new user begins at it, not at
    /// zero.
    virtual_clock: u64,
    came: u64,
}

#[derive(Debug)]
struct User<J> {
    waiting: VecDeque<(u64, J)>,
    /// Whether a prompt of this user is being written.
    is_busy: bool,
    /// The bytes that were written for this user.
    virtual_time: u64,
}

impl<J> Default for Fair<J> {
    fn default() -> Self {
        Self { users: HashMap::new(), virtual_clock: 0, came: 0 }
    }
}

impl<J> Fair<J> {
    /// Adds a job of a user.
    pub(super) fn push(&mut self, user: UserId, job: J) {
        let virtual_time = self.virtual_clock;
        let came = self.came;
        self.came += 1;
        let new = || User { waiting: VecDeque::new(), is_busy: false, virtual_time };
        self.users.entry(user).or_insert_with(new).waiting.push_back((came, job));
    }

    /// Returns the next job and its user. Returns `None` if none may be taken. The caller must then
    /// [`charge`](Self::charge) the user.
    pub(super) fn next(&mut self) -> Option<(UserId, J)> {
        let idle = self.users.iter().filter(|(_, user)| !user.is_busy);
        let order = idle
            .filter_map(|(name, user)| Some(((user.virtual_time, user.waiting.front()?.0), name)));
        let name = order.min_by_key(|(order, _)| *order)?.1.clone();
        let user = self.users.get_mut(&name)?;
        let (_, job) = user.waiting.pop_front()?;
        user.is_busy = true;
        self.virtual_clock = self.virtual_clock.max(user.virtual_time);
        Some((name, job))
    }

    /// Charges a user for a written prompt, after which the next one may be taken.
    pub(super) fn charge(&mut self, name: &UserId, bytes: usize) {
        let Some(user) = self.users.get_mut(name) else { return };
        user.is_busy = false;
        user.virtual_time = user.virtual_time.saturating_add(bytes as u64);
        if user.waiting.is_empty() {
            self.users.remove(name);
        }
    }

    /// Returns all waiting jobs.
    pub(super) fn take_all(&mut self) -> Vec<J> {
        let users = std::mem::take(&mut self.users).into_values();
        users.flat_map(|user| user.waiting).map(|(_, job)| job).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> UserId {
        UserId::new(name).unwrap()
    }

    fn waiting(jobs: &[(&str, u32)]) -> Fair<u32> {
        let mut fair = Fair::default();
        jobs.iter().for_each(|(name, job)| fair.push(user(name), *job));
        fair
    }

    #[test]
    fn one_user_has_one_prompt_written_at_a_time() {
        let mut fair = waiting(&[("kim", 1), ("kim", 2), ("lee", 3)]);
        assert_eq!(fair.next(), Some((user("kim"), 1)));
        assert_eq!(fair.next(), Some((user("lee"), 3)), "the other user goes before the second");
        assert_eq!(fair.next(), None);
        fair.charge(&user("kim"), 10);
        assert_eq!(fair.next(), Some((user("kim"), 2)));
    }

    #[test]
    fn the_user_with_the_least_virtual_time_comes_first() {
        let mut fair = waiting(&[("kim", 1), ("kim", 2), ("lee", 3), ("lee", 4), ("lee", 5)]);
        let mut order = Vec::new();
        while let Some((name, job)) = fair.next() {
            order.push(job);
            fair.charge(&name, if job < 3 { 1_000 } else { 400 });
        }
        assert_eq!(order, [1, 3, 4, 5, 2]);
    }

    #[test]
    fn a_late_user_gets_no_credit() {
        let mut fair = waiting(&[("kim", 1), ("kim", 2), ("kim", 3)]);
        for _ in 0..2 {
            let (name, _) = fair.next().unwrap();
            fair.charge(&name, 1_000);
        }
        for job in [4, 5] {
            fair.push(user("lee"), job);
        }
        let mut order = Vec::new();
        while let Some((name, job)) = fair.next() {
            order.push(job);
            fair.charge(&name, 1_500);
        }
        assert_eq!(order, [4, 3, 5], "kim had as much written as lee will have");
    }

    #[test]
    fn a_user_without_prompts_is_forgotten() {
        let mut fair = waiting(&[("kim", 1)]);
        let (name, _) = fair.next().unwrap();
        fair.charge(&name, 1);
        assert!(fair.users.is_empty());
        fair.push(name, 2);
        assert_eq!(fair.take_all(), [2]);
    }
}
