//! The awake sessions that are idle, in the order in which they became idle, of all users and of
//! each. Pure.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use crate::protocol::UserId;

/// The idle sessions, least recently used first.
#[derive(Debug)]
pub(super) struct IdleLru<S> {
    /// Invariant: both maps have the same numbers.
    order: BTreeMap<u64, UserId>,
    of_user: HashMap<UserId, BTreeMap<u64, S>, RandomState>,
    next: u64,
}

impl<S> Default for IdleLru<S> {
    fn default() -> Self {
        Self { order: BTreeMap::new(), of_user: HashMap::default(), next: 0 }
    }
}

impl<S> IdleLru<S> {
    /// Adds a session that becomes idle. Returns the number under which it leaves.
    pub(super) fn enter(&mut self, user: UserId, session: S) -> u64 {
        let number = self.next;
        self.next += 1;
        self.order.insert(number, user.clone());
        self.of_user.entry(user).or_default().insert(number, session);
        number
    }

    /// Removes a session. Returns `None` if it was taken before.
    pub(super) fn leave(&mut self, user: &UserId, number: u64) -> Option<S> {
        self.order.remove(&number)?;
        let sessions = self.of_user.get_mut(user)?;
        let session = sessions.remove(&number);
        if sessions.is_empty() {
            self.of_user.remove(user);
        }
        session
    }

    /// Takes the session that is idle longest, of this user or of all.
    pub(super) fn take_oldest(&mut self, of: Option<&UserId>) -> Option<S> {
        let (number, user) = match of {
            Some(user) => (*self.of_user.get(user)?.first_key_value()?.0, user.clone()),
            None => self.order.first_key_value().map(|(number, user)| (*number, user.clone()))?,
        };
        self.leave(&user, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_has_rested_longest_is_taken_first_and_once() {
        let [kim, lee] = ["kim", "lee"].map(|name| UserId::new(name).unwrap());
        let mut idle = IdleLru::default();
        let numbers = [(&kim, 1), (&lee, 2), (&kim, 3), (&lee, 4)]
            .map(|(user, session)| idle.enter(user.clone(), session));
        assert_eq!(idle.take_oldest(Some(&lee)), Some(2));
        assert_eq!(idle.leave(&lee, numbers[1]), None);
        assert_eq!(idle.leave(&kim, numbers[0]), Some(1));
        assert_eq!(idle.enter(kim.clone(), 1), 4, "it comes to rest anew, behind the others");
        assert_eq!([idle.take_oldest(None), idle.take_oldest(None)], [Some(3), Some(4)]);
        assert_eq!(idle.take_oldest(Some(&lee)), None);
        assert_eq!(idle.take_oldest(None), Some(1));
        assert!(idle.order.is_empty() && idle.of_user.is_empty());
    }
}
