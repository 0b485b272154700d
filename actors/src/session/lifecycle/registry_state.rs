//! What the doors of a runtime share: where each is found, and which sessions rest.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, Weak},
};

use crate::protocol::{SessionId, UserId};
use crate::session::{Door, lifecycle::idle::Resting};

/// What the doors of a runtime share. Plain mutexes: they are held for a lookup. No door is dropped under them, because
/// that takes the first.
#[derive(Debug, Default)]
pub(crate) struct House {
    doors: Mutex<HashMap<SessionId, Weak<Door>>>,
    resting: Mutex<Resting<Weak<Door>>>,
}

impl House {
    pub(crate) fn doors(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<Door>>> {
        self.doors.lock().expect("no code under this lock panics")
    }

    /// The last of those who held a door is gone.
    pub(crate) fn leave(&self, session: &SessionId) {
        let mut doors = self.doors();
        // Another one may be there already: made in between, because this one could not be had any more.
        if doors.get(session).is_some_and(|door| door.strong_count() == 0) {
            doors.remove(session);
        }
        if let Some(room) = too_much_room(doors.len(), doors.capacity()) {
            doors.shrink_to(room);
        }
    }

    pub(crate) fn resting(&self) -> MutexGuard<'_, Resting<Weak<Door>>> {
        self.resting.lock().expect("no code under this lock panics")
    }
}

/// A session that rests.
#[derive(Debug)]
pub(crate) struct Rest {
    house: Arc<House>,
    user: UserId,
    number: u64,
}

impl Rest {
    pub(crate) fn new(house: &Arc<House>, door: &Arc<Door>) -> Self {
        let user = door.user().clone();
        let number = house.resting().enter(user.clone(), Arc::downgrade(door));
        Self { house: house.clone(), user, number }
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        drop(self.house.resting().leave(&self.user, self.number));
    }
}

/// For how many a table is enough that holds so many and has room for so many; `None`: it stays as it is.
fn too_much_room(len: usize, capacity: usize) -> Option<usize> {
    const SMALLEST: usize = 1_024;
    (capacity > SMALLEST && len < capacity / 4).then_some(len * 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Limits,
        session::Doors,
        test_runtime::{kim, session},
    };

    #[test]
    fn a_table_shrinks_where_it_is_large_and_more_than_three_quarters_of_it_are_free() {
        for (len, capacity, expected) in [
            (0, 1_024, None),
            (0, 1_025, Some(0)),
            (1_000, 1_100, None),
            (300, 1_200, None),
            (299, 1_200, Some(598)),
        ] {
            assert_eq!(too_much_room(len, capacity), expected, "{len} of {capacity}");
        }
    }

    #[test]
    fn nothing_stays_of_the_doors_that_nobody_holds() {
        let (doors, limits) = (Doors::default(), Limits::default());
        let door = |number: u32| doors.door(&session(&number.to_string()), &kim(), &limits);
        let all: Vec<_> = (0..5_000).map(door).collect();
        let house = doors.house().clone();
        let before = house.doors().capacity();
        assert_eq!(doors.count(), 5_000);
        drop(all);
        assert_eq!(doors.count(), 0);
        let after = house.doors().capacity();
        assert!(after < before / 2, "{after} of {before}");
    }
}
