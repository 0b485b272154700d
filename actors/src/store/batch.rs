//! A group of jobs in one transaction: the plain writes that share a savepoint, those that wait for
//! the commit, and what becomes of them if the group is discarded.

use std::{collections::VecDeque, error::Error};

use tracing::error;

use super::{StoreJob, WriteJob};
use crate::{
    failpoint::failpoint,
    port::{StoreError, Transaction, Write},
    protocol::{CallId, SessionId},
};

/// Jobs in one batch: a group looks at its clock between batches.
const LONGEST: usize = 64;

/// Plain writes that share one savepoint.
pub(super) struct WriteBatch {
    jobs: Vec<WriteJob>,
    /// The facts of all jobs, in order; each job has its own again once they are taken apart.
    writes: Vec<Write>,
    /// The number of facts of each job.
    lengths: Vec<usize>,
}

impl WriteBatch {
    /// Begins this job and the plain writes that wait after it, in their order. Leases in between
    /// wait for them, because a write is quick, and a borrower may take all its time until the
    /// deadline. Withdrawn jobs are left out.
    pub(super) fn take(first: WriteJob, waiting: &mut VecDeque<StoreJob>) -> Self {
        let mut batch = Self { jobs: Vec::new(), writes: Vec::new(), lengths: Vec::new() };
        batch.push(first);
        let mut left = VecDeque::with_capacity(waiting.len());
        while batch.jobs.len() < LONGEST
            && let Some(job) = waiting.pop_front()
        {
            match job {
                StoreJob::Write(job) => batch.push(job),
                StoreJob::Lend(_) => left.push_back(job),
            }
        }
        left.append(waiting);
        *waiting = left;
        batch
    }

    /// Makes a batch of one job that has begun.
    pub(super) fn of(mut job: WriteJob) -> Self {
        let writes = std::mem::take(&mut job.writes);
        Self { lengths: vec![writes.len()], writes, jobs: vec![job] }
    }

    fn push(&mut self, mut job: WriteJob) {
        if !job.reply.begins() {
            return;
        }
        self.lengths.push(job.writes.len());
        self.writes.append(&mut job.writes);
        self.jobs.push(job);
    }

    /// Counts the jobs.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Returns whether all of its jobs were withdrawn.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Returns the facts of all jobs.
    pub(super) fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Answers all callers alike. Their permits are free afterwards.
    pub(super) fn answer(self, result: &Result<(), StoreError>) {
        self.jobs.into_iter().for_each(|job| job.reply.send(result.clone()));
    }

    /// Returns the jobs, each with its own facts.
    pub(super) fn into_jobs(self) -> impl DoubleEndedIterator<Item = WriteJob> {
        let Self { mut jobs, writes, lengths } = self;
        let mut writes = writes.into_iter();
        for (job, length) in jobs.iter_mut().zip(lengths) {
            job.writes = writes.by_ref().take(length).collect();
        }
        jobs.into_iter()
    }
}

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
    /// A borrower ended or broke the transaction, so the other jobs are written again without it.
    Borrower,
}

impl PendingBatch {
    /// Answers the callers how the group ended, and with it their jobs.
    pub(super) fn answer(self, end: &Result<(), StoreError>) {
        self.batch.answer(&end.clone().and(self.result));
    }
}

/// Discards the group, of which nothing was written. Plain writes are done again if a borrower
/// poisoned it. All others are answered.
pub(super) fn discard(
    poisoned: PoisonedBatch,
    done: Vec<PendingBatch>,
    not_begun: VecDeque<StoreJob>,
) -> VecDeque<StoreJob> {
    let PoisonedBatch { cause, by } = poisoned;
    let jobs: usize = done.iter().map(|done| done.batch.len()).sum();
    error!(error = &cause as &dyn Error, jobs, "a group of writes was discarded");
    let mut left = VecDeque::new();
    let unwritten = Err(unwritten(&cause));
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

/// Returns the job to do once more, or `None` if its caller's time is up. That caller receives that
/// nothing was written.
pub(super) fn again(mut job: WriteJob) -> Option<StoreJob> {
    job.reply.is_done_again().then_some(StoreJob::Write(job))
}

/// Makes the error of a job that was certainly not written, whatever the store called its failure.
pub(super) fn unwritten(cause: &StoreError) -> StoreError {
    if let StoreError::Unavailable { .. } = cause {
        cause.clone()
    } else {
        StoreError::unavailable(cause.clone())
    }
}

/// The open transaction of a group.
pub(super) type Open = Box<dyn Transaction>;

/// The open transaction and whether the job was refused; or why the transaction is lost.
pub(super) type Concluded = Result<(Open, Result<(), StoreError>), StoreError>;

/// Begins a part, which will record this call.
pub(super) async fn savepoint(
    open: &mut Open,
    call: Option<&(SessionId, CallId)>,
) -> Result<(), StoreError> {
    failpoint("writer.savepoint").await?;
    open.savepoint(call.map(|(session, call)| (session, *call))).await
}

/// Writes into the innermost savepoint and ends it: it is kept, or undone if the store refuses a
/// write.
pub(super) async fn conclude(mut open: Open, writes: &[Write]) -> Concluded {
    failpoint("writer.write").await?;
    match open.write(writes).await {
        Ok(()) => {}
        Err(refusal) if refusal.is_refusal() => {
            open.undo().await?;
            return Ok((open, Err(refusal)));
        }
        Err(failure) => return Err(failure),
    }
    failpoint("writer.keep").await?;
    open.keep().await?;
    Ok((open, Ok(())))
}

/// Writes in a savepoint of its own.
pub(super) async fn in_savepoint(mut open: Open, writes: &[Write]) -> Concluded {
    savepoint(&mut open, None).await?;
    conclude(open, writes).await
}
