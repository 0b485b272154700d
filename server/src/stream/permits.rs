//! The permits of streams, with a bound for one user and a bound for all.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use madang::UserId;

use crate::{
    ServerLimits,
    problem::{Problem, ProblemName},
};

/// Counts the open streams. Clones count together.
#[derive(Debug, Clone)]
pub(crate) struct StreamPermits {
    counts: Arc<Mutex<StreamCounts>>,
    max: usize,
    max_per_user: usize,
}

#[derive(Debug, Default)]
struct StreamCounts {
    all: usize,
    /// The users with a stream.
    of_users: HashMap<UserId, usize>,
}

/// A stream's permit. It is free again after this is dropped.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    counts: Arc<Mutex<StreamCounts>>,
    user: UserId,
}

impl StreamPermits {
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        let max = limits.max_streams;
        let max_per_user = limits.max_streams_per_user;
        Self { counts: Arc::default(), max, max_per_user }
    }

    /// Takes a permit for a stream of this user.
    ///
    /// # Errors
    /// Returns a problem if there is none.
    pub(crate) fn take(&self, user: &UserId) -> Result<StreamPermit, Problem> {
        let mut counts = lock(&self.counts);
        let of_user = counts.of_users.get(user).copied().unwrap_or_default();
        if of_user >= self.max_per_user {
            return Err(full(ProblemName::TooMany, "user", self.max_per_user));
        }
        if counts.all >= self.max {
            return Err(full(ProblemName::Overloaded, "all", self.max));
        }
        counts.all += 1;
        counts.of_users.insert(user.clone(), of_user + 1);
        Ok(StreamPermit { counts: self.counts.clone(), user: user.clone() })
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        counts.all -= 1;
        if let Some(count) = counts.of_users.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                counts.of_users.remove(&self.user);
            }
        }
    }
}

fn lock(counts: &Mutex<StreamCounts>) -> MutexGuard<'_, StreamCounts> {
    counts.lock().expect("no code under this lock panics")
}

fn full(name: ProblemName, scope: &str, max: usize) -> Problem {
    Problem::new(name, format!("Too many streams are open. At most {max} are allowed."))
        .reached("streams", scope, max)
        .retry_after(RETRY)
}

/// How long it takes until a permit may be free. Streams come and go with their screens.
const RETRY: std::time::Duration = std::time::Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_counted_for_each_user_and_for_all_and_come_back() {
        let limits =
            ServerLimits { max_streams: 3, max_streams_per_user: 2, ..ServerLimits::default() };
        let permits = StreamPermits::new(&limits);
        let [kim, lee] = ["kim", "lee"].map(|user| UserId::new(user).unwrap());
        let refused = |user| permits.take(user).unwrap_err().name();
        let one = permits.take(&kim).unwrap();
        let two = permits.take(&kim).unwrap();
        assert_eq!(refused(&kim), ProblemName::TooMany);
        let three = permits.take(&lee).unwrap();
        assert_eq!(refused(&lee), ProblemName::Overloaded);
        drop((one, two, three));
        assert!(lock(&permits.counts).of_users.is_empty(), "users without a stream are forgotten");
        assert!(permits.take(&lee).is_ok());
    }
}
