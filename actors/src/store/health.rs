//! The health of the writers: whether a borrower keeps the transaction too long.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts leases that were not returned in time. A handler that blocks its thread cannot be
/// stopped, only reported.
#[derive(Debug, Default)]
pub struct WriterHealth {
    overdue: AtomicUsize,
}

impl WriterHealth {
    /// Counts the leases that are overdue now. While there is one, its writer does nothing else.
    #[must_use]
    pub fn overdue_leases(&self) -> usize {
        self.overdue.load(Relaxed)
    }

    /// Counts a lease as overdue until the guard is dropped.
    pub(super) fn overdue(&self) -> Overdue<'_> {
        self.overdue.fetch_add(1, Relaxed);
        Overdue(&self.overdue)
    }
}

/// A lease that is overdue.
pub(super) struct Overdue<'a>(&'a AtomicUsize);

impl Drop for Overdue<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
