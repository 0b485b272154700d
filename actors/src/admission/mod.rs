//! Admission: permits for sessions, turns, questions, calls and bytes, for each user and for all
//! users together.
//!
//! A caller takes a [`Permit`] with [`Admission::admit`], and is refused if the bound of its user,
//! or of the runtime, is reached. Work that must continue, such as a turn after a crash, waits with
//! [`Admission::wait`] instead, first come, first served. A refusal contains the time after which
//! to retry, estimated from how long recent permits were held. The table of permits is pure.
//!
//! Invariants:
//! - Dropping a permit frees it, however its holder ends.
//! - Neither a user nor all users together hold more permits than a bound allows.
//! - A free permit goes to the first waiting caller whose user may have it, and a later caller
//!   cannot take it first.

mod table;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::{sync::oneshot, time::Instant};

use crate::{
    protocol::{Bound, LimitExceeded, Limits, UserId},
    telemetry::{permits_returned, permits_taken, refused},
};
use table::AdmissionTable;

/// The permits of a runtime. Clones share them.
#[derive(Debug, Clone)]
pub struct Admission(Arc<Mutex<AdmissionTable<oneshot::Sender<Permit>>>>);

/// Permits of one bound that a caller holds. Dropping it frees them.
#[must_use = "dropped, its permits are free again"]
pub struct Permit {
    of: Admission,
    bound: Bound,
    user: UserId,
    permits: usize,
    since: Instant,
}

impl Admission {
    /// Creates the permits that these limits allow, all of them free.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self(Arc::new(Mutex::new(AdmissionTable::new(limits))))
    }

    /// Takes permits for this user.
    ///
    /// # Errors
    /// [`LimitExceeded`] says which bound was reached.
    pub fn admit(
        &self,
        bound: Bound,
        user: &UserId,
        permits: usize,
    ) -> Result<Permit, LimitExceeded> {
        self.table().admit(bound, user, permits).inspect_err(refused)?;
        Ok(self.permit(bound, user.clone(), permits))
    }

    /// Does the same without counting a refusal: the caller tries again or waits, so it may be
    /// admitted after all.
    ///
    /// # Errors
    /// [`LimitExceeded`] says which bound was reached.
    pub(crate) fn try_admit(
        &self,
        bound: Bound,
        user: &UserId,
        permits: usize,
    ) -> Result<Permit, LimitExceeded> {
        self.table().try_admit(bound, user, permits)?;
        Ok(self.permit(bound, user.clone(), permits))
    }

    /// Waits for one permit, first come, first served. This is for work that must continue and so
    /// is never refused. Dropping the future gives up the wait.
    pub async fn wait(&self, bound: Bound, user: &UserId) -> Permit {
        loop {
            let mut line = {
                let mut table = self.table();
                if table.take(bound, user, 1).is_ok() {
                    drop(table); // metrics are reported outside of the lock
                    return self.permit(bound, user.clone(), 1);
                }
                let (waiter, free) = oneshot::channel();
                table.wait(bound, user.clone(), waiter);
                Wait { of: self, free }
            };
            if let Ok(permit) = (&mut line.free).await {
                return permit;
            }
        }
    }

    /// Returns whether a waiting caller could have a permit that this user holds.
    #[must_use]
    pub fn is_wanted(&self, bound: Bound, user: &UserId) -> bool {
        self.table().is_wanted(bound, user)
    }

    /// Counts the permits that are held.
    #[must_use]
    pub fn held(&self, bound: Bound) -> usize {
        self.table().held(bound)
    }

    fn permit(&self, bound: Bound, user: UserId, permits: usize) -> Permit {
        permits_taken(bound, permits);
        Permit { of: self.clone(), bound, user, permits, since: Instant::now() }
    }

    fn table(&self) -> MutexGuard<'_, AdmissionTable<oneshot::Sender<Permit>>> {
        self.0.lock().expect("no code under this lock panics")
    }
}

/// A caller's place in line. Dropping it leaves the line.
struct Wait<'a> {
    of: &'a Admission,
    free: oneshot::Receiver<Permit>,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.free.close();
        self.of.table().forget(oneshot::Sender::is_closed);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        permits_returned(self.bound, self.permits);
        let is_there = |waiter: &oneshot::Sender<Self>| !waiter.is_closed();
        let held_for = self.since.elapsed();
        let served =
            self.of.table().release(self.bound, &self.user, self.permits, held_for, is_there);
        // Not under the lock: a permit whose receiver is gone comes back here.
        for (bound, user, waiter) in served {
            let _ = waiter.send(self.of.permit(bound, user, 1));
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permit({} {})", self.permits, self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::in_time;

    fn one_turn() -> (Admission, UserId) {
        let limits = Limits { max_running_turns: 1, ..Limits::default() };
        (Admission::new(&limits), UserId::new("kim").unwrap())
    }

    #[tokio::test]
    async fn a_permit_goes_to_the_waiter_and_not_to_a_later_caller() {
        let (admission, kim) = one_turn();
        let first = admission.admit(Bound::RunningTurns, &kim, 1).unwrap();
        let mut second = Box::pin(admission.wait(Bound::RunningTurns, &kim));
        assert!(futures_are_pending(&mut second).await);
        drop(first);
        assert!(admission.admit(Bound::RunningTurns, &kim, 1).is_err());
        let _ = in_time(second).await;
        assert_eq!(admission.held(Bound::RunningTurns), 0);
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_leaves_the_line_at_once() {
        let (admission, kim) = one_turn();
        let held = admission.admit(Bound::RunningTurns, &kim, 1).unwrap();
        let mut gone = Box::pin(admission.wait(Bound::RunningTurns, &kim));
        assert!(futures_are_pending(&mut gone).await);
        assert!(admission.is_wanted(Bound::RunningTurns, &kim));
        drop(gone);
        assert!(!admission.is_wanted(Bound::RunningTurns, &kim), "no caller wants it any more");
        drop(held);
    }

    #[tokio::test]
    async fn what_one_user_gives_back_is_of_no_use_to_another_who_has_too_many() {
        let limits = Limits { max_running_turns_per_user: 1, ..Limits::default() };
        let admission = Admission::new(&limits);
        let [kim, lee] = ["kim", "lee"].map(|name| UserId::new(name).unwrap());
        let _of_both = [&kim, &lee].map(|user| admission.admit(Bound::RunningTurns, user, 1));
        let mut waits = Box::pin(admission.wait(Bound::RunningTurns, &lee));
        assert!(futures_are_pending(&mut waits).await);
        assert!(admission.is_wanted(Bound::RunningTurns, &lee));
        assert!(!admission.is_wanted(Bound::RunningTurns, &kim));
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_holds_no_permit_whenever_that_is() {
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
