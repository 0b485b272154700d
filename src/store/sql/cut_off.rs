//! What ends a statement whose caller is gone, and no other.
//!
//! A future that is dropped leaves its statement to SQLite's thread, where all that comes later waits behind it. SQLite asks
//! every few steps whether it may go on; from the moment that is set here, it may not. The writer's own statements are never
//! cut off: the one by which a connection comes back takes the moment away on SQLite's thread, behind all of the borrower's.

#![expect(clippy::disallowed_types, reason = "SQLite's thread asks, which has no clock of tokio's")]

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use sqlx::SqliteConnection;

/// How many steps of its machine SQLite takes before it asks whether it may go on: well below a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// No moment.
const NEVER: u64 = u64::MAX;

/// So many deadlines after it began, a borrower that has not ended is cut off: after one it was to be dropped, and was to
/// hear of that rather than of a statement that failed.
const DEADLINES_OF_A_BORROWER: u32 = 2;

/// From when on the statements of a connection are cut off.
#[derive(Debug)]
pub(super) struct CutOff {
    /// In nanoseconds since [`BEGINNING`].
    from: AtomicU64,
    /// The borrower's deadline, the same way.
    deadline: AtomicU64,
}

static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

impl CutOff {
    /// Watches over a connection.
    pub(super) async fn watch(db: &mut SqliteConnection) -> sqlx::Result<Arc<Self>> {
        let cut_off =
            Arc::new(Self { from: AtomicU64::new(NEVER), deadline: AtomicU64::new(NEVER) });
        let steps = cut_off.clone();
        let mut handle = db.lock_handle().await?;
        handle.set_progress_handler(STEPS_BETWEEN_LOOKS, move || !steps.is_over());
        drop(handle);
        Ok(cut_off)
    }

    /// A borrower has the connection, for so long.
    pub(super) fn lent(&self, deadline: Option<Duration>) {
        let after =
            |times: u32| deadline.map_or(NEVER, |deadline| moment(deadline.saturating_mul(times)));
        self.deadline.store(after(1), SeqCst);
        self.from.store(after(DEADLINES_OF_A_BORROWER), SeqCst);
    }

    /// The borrower has ended.
    pub(super) fn is_home(&self) {
        self.from.store(self.deadline.load(SeqCst), SeqCst);
    }

    /// Cuts off what runs.
    pub(super) fn now(&self) {
        self.from.store(0, SeqCst);
    }

    /// Cuts off nothing.
    pub(super) fn never(&self) {
        self.from.store(NEVER, SeqCst);
    }

    fn is_over(&self) -> bool {
        let from = self.from.load(SeqCst);
        from != NEVER && from <= moment(Duration::ZERO)
    }
}

/// The moment so long from now.
fn moment(later: Duration) -> u64 {
    u64::try_from(BEGINNING.elapsed().saturating_add(later).as_nanos()).unwrap_or(NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_a_borrower_has_ended_what_it_left_running_is_cut_off_at_its_deadline() {
        let cut_off = CutOff { from: AtomicU64::new(NEVER), deadline: AtomicU64::new(NEVER) };
        cut_off.lent(Some(Duration::from_secs(1_000)));
        let while_lent = cut_off.from.load(SeqCst);
        cut_off.is_home();
        let at_home = cut_off.from.load(SeqCst);
        // The moments are taken one after the other, so they lie at least so far apart.
        assert!(while_lent - at_home >= 1_000_000_000_000, "{at_home} and {while_lent}");
    }
}
