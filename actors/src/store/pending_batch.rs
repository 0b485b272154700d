//! The jobs that wait for the commit of their group, and what becomes of them where the group is discarded.

use std::{collections::VecDeque, error::Error};

use tracing::error;

use super::{StoreJob, WriteJob, write_batch::WriteBatch};
use crate::port::StoreError;

/// Jobs that wait for the commit.
pub(super) struct PendingBatch {
    pub(super) batch: WriteBatch,
    pub(super) result: Result<(), StoreError>,
    /// Whether a borrower's own writes go with it, which cannot be done once more.
    pub(super) is_borrowers: bool,
}

/// A batch whose transaction is unusable; none of its group was written.
pub(super) struct PoisonedBatch {
    pub(super) cause: StoreError,
    pub(super) by: PoisonedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PoisonedBy {
    /// The store itself fails.
    Store,
    /// A borrower ended or broke the transaction: the other jobs are written again without it.
    Borrower,
}

impl PendingBatch {
    /// Tells the callers how the group ended, and with it their jobs.
    pub(super) fn answer(self, end: &Result<(), StoreError>) {
        self.batch.answer(&end.clone().and(self.result));
    }
}

/// Discards the group, of which nothing was written. Plain writes are done again where a borrower poisoned it; all
/// others are answered.
pub(super) fn discard(
    poisoned: PoisonedBatch,
    done: Vec<PendingBatch>,
    not_begun: VecDeque<StoreJob>,
) -> VecDeque<StoreJob> {
    let PoisonedBatch { cause, by } = poisoned;
    let jobs: usize = done.iter().map(|done| done.batch.len()).sum();
    error!(error = &cause as &dyn Error, jobs, "a group of writes was discarded");
    let (mut left, unwritten) = (VecDeque::new(), Err(unwritten(&cause)));
    for done in done {
        match by {
            PoisonedBy::Borrower if !done.is_borrowers => {
                left.extend(done.batch.into_jobs().filter_map(again));
            }
            PoisonedBy::Borrower | PoisonedBy::Store => done.answer(&unwritten),
        }
    }
    left.extend(not_begun);
    left
}

/// Gives the job to do once more. `None` where its caller's time is up, which is told that nothing was written.
pub(super) fn again(mut job: WriteJob) -> Option<StoreJob> {
    job.reply.is_done_again().then_some(StoreJob::Write(job))
}

/// Makes the error of a job that was surely not written, whatever the store called its failure.
pub(super) fn unwritten(cause: &StoreError) -> StoreError {
    if let StoreError::Unavailable { .. } = cause {
        cause.clone()
    } else {
        StoreError::unavailable(cause.clone())
    }
}
