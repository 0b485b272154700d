//! What the doors of a runtime share: where each is found, and which sessions rest.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, Weak},
};

use super::{Door, resting::Resting};
use crate::protocol::{SessionId, UserId};

/// What the doors of a runtime share. Plain mutexes: they are held for a lookup. No door is dropped under them, because
/// that takes the first.
#[derive(Debug, Default)]
pub(super) struct House {
    doors: Mutex<HashMap<SessionId, Weak<Door>>>,
    resting: Mutex<Resting<Weak<Door>>>,
}

impl House {
    pub(super) fn doors(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<Door>>> {
        self.doors.lock().expect("no code under this lock panics")
    }

    pub(super) fn resting(&self) -> MutexGuard<'_, Resting<Weak<Door>>> {
        self.resting.lock().expect("no code under this lock panics")
    }
}

/// A session that rests.
#[derive(Debug)]
pub(super) struct Rest {
    house: Arc<House>,
    user: UserId,
    number: u64,
}

impl Rest {
    pub(super) fn new(house: &Arc<House>, door: &Arc<Door>) -> Self {
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
