//! The health of the writers: whether a borrower keeps the transaction.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts leases that were not returned in time. A handler that blocks its thread cannot be stopped, only reported.
#[derive(Debug, Default)]
pub struct WriterHealth {
    overdue: AtomicUsize,
}

impl WriterHealth {
    /// Counts the leases that are overdue now: while there is one, its writer does nothing else.
    #[must_use]
    pub fn overdue_leases(&self) -> usize {
        self.overdue.load(Relaxed)
    }

    pub(super) fn went_overdue(&self) {
        self.overdue.fetch_add(1, Relaxed);
    }

    pub(super) fn came_back_late(&self) {
        self.overdue.fetch_sub(1, Relaxed);
    }
}
