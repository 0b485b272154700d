//! Bounds the bytes that the server holds for each user, and for all users together.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use bytes::Bytes;
use madang::UserId;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::problem::{Problem, ProblemName};

/// A bound on bytes in memory. Clones count together.
#[derive(Debug, Clone)]
pub(crate) struct ByteBudget {
    all: Arc<Semaphore>,
    users: Arc<Mutex<Users>>,
    max: usize,
    max_per_user: usize,
}

/// The users who have bytes in memory, or wait for room.
type Users = HashMap<UserId, Arc<Semaphore>>;

/// Room for some bytes. It is free again after this is dropped.
#[derive(Debug)]
pub(crate) struct BytePermit {
    of_user: OfUser,
    all: Arc<Semaphore>,
    bytes: u32,
}

/// The room of one user, as one request sees it. When the last of them is dropped, the user is
/// forgotten.
#[derive(Debug)]
struct OfUser {
    user: UserId,
    /// The semaphore. `None` only while this is dropped.
    room: Option<Arc<Semaphore>>,
    users: Arc<Mutex<Users>>,
}

/// Whose bytes are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom {
    is_of_user: bool,
    max: usize,
}

impl ByteBudget {
    /// Makes a budget of this many bytes for all users, and for one user.
    pub(crate) fn new(max: usize, max_per_user: usize) -> Self {
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        let all = Arc::new(Semaphore::new(max));
        Self { all, users: Arc::default(), max, max_per_user: max_per_user.clamp(1, max) }
    }

    /// Takes room for this user, if there is enough. More than a user may have counts as all that
    /// the user may have.
    ///
    /// # Errors
    /// Returns [`NoRoom`] if there is not enough.
    pub(crate) fn try_take(&self, user: &UserId, bytes: usize) -> Result<Arc<BytePermit>, NoRoom> {
        let bytes = self.part(bytes);
        let of_user = self.of_user(user);
        let no_room = |is_of_user, max| move |_| NoRoom { is_of_user, max };
        let own = of_user.semaphore().try_acquire_many(bytes);
        let own = own.map_err(no_room(true, self.max_per_user))?;
        self.all.try_acquire_many(bytes).map_err(no_room(false, self.max))?.forget();
        own.forget();
        Ok(Arc::new(BytePermit { of_user, all: self.all.clone(), bytes }))
    }

    /// Takes room for this user as soon as there is enough. Those who wait get it in order. If the
    /// future is dropped, it takes none.
    pub(crate) async fn take(&self, user: &UserId, bytes: usize) -> Arc<BytePermit> {
        const OPEN: &str = "no semaphore of a budget is closed";
        let bytes = self.part(bytes);
        let of_user = self.of_user(user);
        let own = of_user.semaphore().acquire_many(bytes).await.expect(OPEN);
        self.all.acquire_many(bytes).await.expect(OPEN).forget();
        SemaphorePermit::forget(own);
        Arc::new(BytePermit { of_user, all: self.all.clone(), bytes })
    }

    fn part(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.min(self.max_per_user)).unwrap_or(u32::MAX)
    }

    fn of_user(&self, user: &UserId) -> OfUser {
        let room = || Arc::new(Semaphore::new(self.max_per_user));
        let room = lock(&self.users).entry(user.clone()).or_insert_with(room).clone();
        OfUser { user: user.clone(), room: Some(room), users: self.users.clone() }
    }
}

impl BytePermit {
    /// Returns the bytes, and holds the room until the last of them is dropped. Several `Bytes` may
    /// share one room.
    pub(crate) fn hold(self: Arc<Self>, bytes: Bytes) -> Bytes {
        struct Held(
            Bytes,
            #[expect(dead_code, reason = "it is kept for its drop")] Arc<BytePermit>,
        );

        impl AsRef<[u8]> for Held {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        Bytes::from_owner(Held(bytes, self))
    }
}

impl Drop for BytePermit {
    fn drop(&mut self) {
        self.all.add_permits(self.bytes as usize);
        self.of_user.semaphore().add_permits(self.bytes as usize);
    }
}

impl OfUser {
    fn semaphore(&self) -> &Semaphore {
        self.room.as_ref().expect("it is there until this is dropped")
    }
}

impl Drop for OfUser {
    fn drop(&mut self) {
        let mut users = lock(&self.users);
        self.room = None;
        if users.get(&self.user).is_some_and(|room| Arc::strong_count(room) == 1) {
            users.remove(&self.user);
        }
    }
}

fn lock(users: &Mutex<Users>) -> MutexGuard<'_, Users> {
    users.lock().expect("no code under this lock panics")
}

impl NoRoom {
    /// Makes the problem of a bound that has no room, under this name.
    pub(crate) fn problem(self, bound: &str, detail: &'static str) -> Problem {
        let (name, scope) = match self.is_of_user {
            true => (ProblemName::TooMany, "user"),
            false => (ProblemName::Overloaded, "all"),
        };
        Problem::new(name, detail).reached(bound, scope, self.max).retry_after(RETRY)
    }
}

/// How long it takes until there may be room. Slow clients are cut off after half a minute.
const RETRY: std::time::Duration = std::time::Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn users() -> [UserId; 2] {
        ["kim", "lee"].map(|user| UserId::new(user).unwrap())
    }

    #[test]
    fn bytes_are_counted_for_each_user_and_for_all_until_they_are_dropped() {
        let (budget, [kim, lee]) = (ByteBudget::new(30, 20), users());
        let first = budget.try_take(&kim, 15).unwrap();
        let full = budget.try_take(&kim, 6).unwrap_err();
        assert_eq!(full, NoRoom { is_of_user: true, max: 20 });
        let full = budget.try_take(&lee, 16).unwrap_err();
        assert_eq!(full, NoRoom { is_of_user: false, max: 30 });
        let second = budget.try_take(&lee, 15).unwrap();
        let bytes = first.hold(Bytes::from_static(b"abc"));
        let part = bytes.slice(1..2);
        drop(bytes);
        assert!(budget.try_take(&kim, 6).is_err(), "a part is still there");
        drop((part, second));
        assert!(lock(&budget.users).is_empty(), "users without bytes are forgotten");
        assert!(budget.try_take(&kim, 1_000).is_ok(), "what is too long comes alone");
        assert_eq!(budget.all.available_permits(), 30);
    }

    #[tokio::test]
    async fn who_waits_for_room_has_it_when_it_is_free_and_holds_nothing_when_it_leaves() {
        let (budget, [kim, _]) = (ByteBudget::new(30, 20), users());
        let first = budget.take(&kim, 20).await;
        let mut waits = Box::pin(budget.take(&kim, 5));
        tokio::select! {
            biased;
            _ = waits.as_mut() => panic!("there is no room yet"),
            () = std::future::ready(()) => {}
        }
        drop(first);
        drop(waits.await);
        assert!(lock(&budget.users).is_empty());
        assert_eq!(budget.all.available_permits(), 30);
    }
}
