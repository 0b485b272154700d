//! The jobs that wait for the commit of their group, and what becomes of them where the group is discarded.

use std::{collections::VecDeque, error::Error};

use tokio::sync::OwnedSemaphorePermit;
use tracing::error;

use super::{ReplySender, StoreJob, WriteJob, write_batch::WriteBatch};
use crate::port::{StoreError, Write};

/// Jobs that wait for the commit.
pub(super) enum PendingBatch {
    Job {
        reply: ReplySender<()>,
        result: Result<(), StoreError>,
        /// The facts and the permit with which a plain write is done once more.
        again: Option<(Vec<Write>, OwnedSemaphorePermit)>,
    },
    /// Plain writes, none of which was refused.
    WriteBatch(WriteBatch),
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
    /// Counts the jobs.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Job { .. } => 1,
            Self::WriteBatch(batch) => batch.len(),
        }
    }

    pub(super) fn is_borrowers(&self) -> bool {
        matches!(self, Self::Job { again: None, .. })
    }

    /// Tells the callers how the group ended, and with it their jobs.
    pub(super) fn answer(self, end: &Result<(), StoreError>) {
        match self {
            Self::Job { reply, result, .. } => reply.send(end.clone().and(result)),
            Self::WriteBatch(batch) => batch.answer(end),
        }
    }
}

impl WriteJob {
    pub(super) fn done(self, result: Result<(), StoreError>) -> PendingBatch {
        PendingBatch::Job { reply: self.reply, result, again: Some((self.writes, self.permit)) }
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
    let jobs: usize = done.iter().map(PendingBatch::len).sum();
    error!(error = &cause as &dyn Error, jobs, "a group of writes was discarded");
    let (mut left, unwritten) = (VecDeque::new(), Err(unwritten(&cause)));
    for done in done {
        match (done, by) {
            (
                PendingBatch::Job { reply, again: Some((writes, permit)), .. },
                PoisonedBy::Borrower,
            ) => {
                left.extend(again(WriteJob { writes, reply, permit }));
            }
            (PendingBatch::WriteBatch(batch), PoisonedBy::Borrower) => {
                left.extend(batch.into_jobs().filter_map(again))
            }
            (done, PoisonedBy::Borrower | PoisonedBy::Store) => done.answer(&unwritten),
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
    match cause {
        StoreError::Unavailable { .. } => cause.clone(),
        StoreError::Illegal(_)
        | StoreError::Refused { .. }
        | StoreError::TooMuchStored
        | StoreError::Unknown { .. }
        | StoreError::Overloaded
        | StoreError::Withdrawn
        | StoreError::Silent => StoreError::unavailable(cause.clone()),
    }
}
