//! Keeps the newest entries of each user, within a bound of all entries together. No user pushes
//! out what another has.

use std::{collections::HashMap, hash::Hash};

use hashlink::LinkedHashMap;
use madang::UserId;

#[derive(Debug)]
pub(super) struct Newest<K, V> {
    of_users: HashMap<UserId, LinkedHashMap<K, V>>,
    count: usize,
    max: usize,
}

impl<K: Eq + Hash, V> Newest<K, V> {
    pub(super) fn new(max: usize) -> Self {
        Self { of_users: HashMap::new(), count: 0, max }
    }

    pub(super) fn get(&self, user: &UserId, key: &K) -> Option<&V> {
        self.of_users.get(user)?.get(key)
    }

    /// Adds an entry as the newest of its user. Beyond the bound, the user with the most entries
    /// loses its oldest.
    pub(super) fn put(&mut self, user: UserId, key: K, value: V) {
        let own = self.of_users.entry(user).or_default();
        self.count += usize::from(own.insert(key, value).is_none());
        if self.count > self.max {
            self.forget_one();
        }
    }

    /// Removes an entry of a user.
    pub(super) fn remove(&mut self, user: &UserId, key: &K) {
        self.retain(user, |found, _| found != key);
    }

    /// Keeps the entries of a user of which this is true. It may change them.
    pub(super) fn retain(&mut self, user: &UserId, mut keeps: impl FnMut(&K, &mut V) -> bool) {
        let Some(own) = self.of_users.get_mut(user) else { return };
        let before = own.len();
        own.retain(|key, value| keeps(key, value));
        self.count -= before - own.len();
        if own.is_empty() {
            self.of_users.remove(user);
        }
    }

    fn forget_one(&mut self) {
        let most = self.of_users.iter_mut().max_by_key(|(_, own)| own.len());
        let Some((user, own)) = most else { return };
        self.count -= usize::from(own.pop_front().is_some());
        if own.is_empty() {
            let user = user.clone();
            self.of_users.remove(&user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_the_most_loses_the_oldest_and_no_one_else_loses_any() {
        let [kim, lee] = ["kim", "lee"].map(|user| UserId::new(user).unwrap());
        let mut newest = Newest::new(4);
        newest.put(lee.clone(), 0, "lee's");
        for key in [1, 2, 3, 1, 4, 5] {
            newest.put(kim.clone(), key, "kim's");
        }
        let kept: Vec<_> = (0..6).filter(|key| newest.get(&kim, key).is_some()).collect();
        assert_eq!(kept, [1, 4, 5], "what was put again is new");
        assert_eq!((newest.get(&lee, &0), newest.get(&kim, &0)), (Some(&"lee's"), None));
        assert_eq!(newest.count, 4);
    }

    #[test]
    fn what_is_removed_of_a_user_makes_room() {
        let kim = UserId::new("kim").unwrap();
        let mut newest = Newest::new(2);
        newest.put(kim.clone(), 1, "a");
        newest.put(kim.clone(), 2, "b");
        newest.retain(&kim, |_, value| *value != "a");
        assert_eq!((newest.get(&kim, &1), newest.count), (None, 1));
        newest.put(kim.clone(), 3, "c");
        assert_eq!(newest.get(&kim, &2), Some(&"b"), "there was room");
        newest.retain(&kim, |_, _| false);
        assert_eq!((newest.count, newest.of_users.len()), (0, 0));
    }

    #[test]
    fn one_entry_each_of_many_users_is_bounded_too() {
        let mut newest = Newest::new(2);
        for number in 0..10 {
            newest.put(UserId::new(number.to_string()).unwrap(), (), ());
        }
        assert_eq!((newest.count, newest.of_users.len()), (2, 2));
    }
}
