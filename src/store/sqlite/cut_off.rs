//! Interrupts a borrower's statement if its caller is gone, and no other statement.
//!
//! A dropped future leaves its statement running on SQLite's thread, and later statements wait for
//! it. SQLite asks every few steps whether it may continue; past the deadline set here, it may not.
//! The writer's own statements are never interrupted, because the statement that ends the loan of
//! the connection also removes the deadline.

#![expect(clippy::disallowed_types, reason = "SQLite's thread asks, which has no clock of tokio's")]

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use sqlx::SqliteConnection;

/// Steps of its machine that SQLite takes between two looks at the clock: well below a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// Means no deadline.
const NEVER: u64 = u64::MAX;

/// The number of deadlines after which a borrower is interrupted. At the first deadline its future
/// is dropped, and its caller should learn of that, not of a failed statement.
const DEADLINES_OF_A_BORROWER: u32 = 2;

/// The moment from which statements of a connection are interrupted.
#[derive(Debug)]
pub(super) struct CutOff {
    /// In nanoseconds since [`BEGINNING`].
    from: AtomicU64,
    /// The borrower's deadline, in nanoseconds.
    deadline: AtomicU64,
}

static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

impl CutOff {
    /// Sets SQLite's progress handler on a connection.
    pub(super) async fn watch(db: &mut SqliteConnection) -> sqlx::Result<Arc<Self>> {
        let cut_off =
            Arc::new(Self { from: AtomicU64::new(NEVER), deadline: AtomicU64::new(NEVER) });
        let steps = cut_off.clone();
        let mut handle = db.lock_handle().await?;
        handle.set_progress_handler(STEPS_BETWEEN_LOOKS, move || !steps.is_over());
        drop(handle);
        Ok(cut_off)
    }

    /// Begins the time of a borrower.
    pub(super) fn lent(&self, deadline: Option<Duration>) {
        let after =
            |times: u32| deadline.map_or(NEVER, |deadline| moment(deadline.saturating_mul(times)));
        self.deadline.store(after(1), SeqCst);
        self.from.store(after(DEADLINES_OF_A_BORROWER), SeqCst);
    }

    /// Notes that the borrower has ended.
    pub(super) fn returned(&self) {
        self.from.store(self.deadline.load(SeqCst), SeqCst);
    }

    /// Interrupts the running statement.
    pub(super) fn now(&self) {
        self.from.store(0, SeqCst);
    }

    /// Lets every statement run to its end.
    pub(super) fn never(&self) {
        self.from.store(NEVER, SeqCst);
    }

    fn is_over(&self) -> bool {
        let from = self.from.load(SeqCst);
        from != NEVER && from <= moment(Duration::ZERO)
    }
}

/// Returns the moment this much later, in nanoseconds since [`BEGINNING`].
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
        cut_off.returned();
        let once_returned = cut_off.from.load(SeqCst);
        // The first moment is taken before the second, so they lie at least this far apart.
        assert!(
            while_lent - once_returned >= 1_000_000_000_000,
            "{once_returned} and {while_lent}"
        );
    }
}
