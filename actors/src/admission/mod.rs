//! Who is let in: places for sessions, turns, questions, calls and bytes, of each user and in all. A place is free again
//! when its permit is dropped, however its holder ends.

mod book;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::{sync::oneshot, time::Instant};

use crate::{
    protocol::{Bound, Limits, Refusal, UserId},
    telemetry::{places_given_back, places_taken, refused},
};
use book::Book;

/// The places of a runtime. Clones share them.
#[derive(Debug, Clone)]
pub struct Admission(Arc<Shared>);

#[derive(Debug)]
struct Shared(Mutex<Book<oneshot::Sender<Permit>>>);

/// Places that somebody holds. Dropped, they are free.
#[must_use = "dropped, its places are free again"]
pub struct Permit {
    of: Arc<Shared>,
    bound: Bound,
    user: UserId,
    places: usize,
    since: Instant,
}

impl Admission {
    /// All places free.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self(Arc::new(Shared(Mutex::new(Book::new(limits)))))
    }

    /// Takes places for this user.
    ///
    /// # Errors
    /// [`Refusal`] says which bound was reached.
    pub fn admit(&self, bound: Bound, user: &UserId, places: usize) -> Result<Permit, Refusal> {
        self.try_admit(bound, user, places).inspect_err(refused)
    }

    /// The same for whoever goes on trying or waits where there is no place, and so may not be refused after all.
    ///
    /// # Errors
    /// [`Refusal`] says which bound was reached.
    pub(crate) fn try_admit(
        &self,
        bound: Bound,
        user: &UserId,
        places: usize,
    ) -> Result<Permit, Refusal> {
        self.0.book().admit(bound, user, places)?;
        Ok(self.permit(bound, user, places))
    }

    /// Waits for one place: for what must go on and so is never refused. First come, first served. Dropping the future
    /// gives up the wait.
    pub async fn wait(&self, bound: Bound, user: &UserId) -> Permit {
        loop {
            let free = {
                let mut book = self.0.book();
                if book.admit(bound, user, 1).is_ok() {
                    drop(book); // whoever watches is told outside of the lock
                    return self.permit(bound, user, 1);
                }
                let (waiter, free) = oneshot::channel();
                book.wait(bound, user.clone(), waiter);
                free
            };
            if let Ok(permit) = free.await {
                return permit;
            }
        }
    }

    /// Somebody waits who could have a place of this user's.
    #[must_use]
    pub fn is_wanted(&self, bound: Bound, user: &UserId) -> bool {
        self.0.book().is_wanted(bound, user)
    }

    /// How many places are held.
    #[must_use]
    pub fn held(&self, bound: Bound) -> usize {
        self.0.book().held(bound)
    }

    fn permit(&self, bound: Bound, user: &UserId, places: usize) -> Permit {
        self.0.permit(bound, user.clone(), places)
    }
}

impl Shared {
    fn permit(self: &Arc<Self>, bound: Bound, user: UserId, places: usize) -> Permit {
        places_taken(bound, places);
        Permit { of: self.clone(), bound, user, places, since: Instant::now() }
    }

    fn book(&self) -> MutexGuard<'_, Book<oneshot::Sender<Permit>>> {
        self.0.lock().expect("no code under this lock panics")
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        places_given_back(self.bound, self.places);
        let is_there = |waiter: &oneshot::Sender<Self>| !waiter.is_closed();
        let held_for = self.since.elapsed();
        let served =
            self.of.book().release(self.bound, &self.user, self.places, held_for, is_there);
        // Not under the lock: a permit that nobody takes comes back here.
        for (bound, user, waiter) in served {
            drop(waiter.send(self.of.permit(bound, user, 1)));
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permit({} {})", self.places, self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_turn() -> (Admission, UserId) {
        let limits = Limits { max_running_turns: 1, ..Limits::default() };
        (Admission::new(&limits), UserId::new("kim").unwrap())
    }

    #[tokio::test]
    async fn a_place_goes_to_whoever_waits_for_it_and_not_to_who_comes_later() {
        let (admission, kim) = one_turn();
        let first = admission.admit(Bound::RunningTurns, &kim, 1).unwrap();
        let mut second = Box::pin(admission.wait(Bound::RunningTurns, &kim));
        assert!(futures_are_pending(&mut second).await);
        drop(first);
        assert!(admission.admit(Bound::RunningTurns, &kim, 1).is_err());
        drop(second.await);
        assert_eq!(admission.held(Bound::RunningTurns), 0);
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_holds_no_place_whenever_that_is() {
        let (admission, kim) = one_turn();
        for is_served_first in [false, true] {
            let held = admission.admit(Bound::RunningTurns, &kim, 1).unwrap();
            let mut gone = Box::pin(admission.wait(Bound::RunningTurns, &kim));
            let mut next = Box::pin(admission.wait(Bound::RunningTurns, &kim));
            assert!(futures_are_pending(&mut gone).await && futures_are_pending(&mut next).await);
            if is_served_first {
                drop(held);
                drop(gone);
            } else {
                drop(gone);
                drop(held);
            }
            drop(next.await);
            assert_eq!(admission.held(Bound::RunningTurns), 0);
        }
    }

    async fn futures_are_pending(future: &mut (impl Future<Output = Permit> + Unpin)) -> bool {
        tokio::select! {
            biased;
            _ = future => false,
            () = std::future::ready(()) => true,
        }
    }
}
