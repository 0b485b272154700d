//! The writer of one group. It begins, writes each job so that it can be undone by itself, commits
//! once, then answers all. It runs in a tracked task, so none of the transaction's futures is ever
//! dropped.

use std::{collections::VecDeque, error::Error, sync::Arc};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};
use tracing::{error, warn};

use super::{
    Keep, Lease, LeaseJob, StoreJob, WriteJob, WriterHealth,
    batch::{
        Concluded, Open, PendingBatch, PoisonedBatch, PoisonedBy, WriteBatch, again, conclude,
        discard, in_savepoint, savepoint, unwritten,
    },
    lease::{End, LeaseReturn},
};
use crate::{
    failpoint::failpoint,
    port::{Store, StoreError},
    protocol::Limits,
    telemetry::group_ended,
};

/// The deadlines after which a lease is reported: its borrower should have ended it after one.
const OVERDUE_AFTER_DEADLINES: u32 = 4;

/// Writes groups of jobs to a store.
#[derive(Debug)]
pub(super) struct Writer {
    store: Arc<dyn Store>,
    limits: Arc<Limits>,
    health: Arc<WriterHealth>,
}

impl Writer {
    pub(super) const fn new(
        store: Arc<dyn Store>,
        limits: Arc<Limits>,
        health: Arc<WriterHealth>,
    ) -> Self {
        Self { store, limits, health }
    }

    /// Writes as many of the jobs as fit into one group. Returns those that must be tried again.
    pub(super) async fn write(&self, mut jobs: VecDeque<StoreJob>) -> VecDeque<StoreJob> {
        let mut transaction = match self.begin().await {
            Ok(transaction) => transaction,
            Err(cause) => {
                error!(
                    error = &cause as &dyn Error,
                    jobs = jobs.len(),
                    "failed to begin a transaction"
                );
                jobs.into_iter().for_each(|job| job.refuse(unwritten(&cause)));
                return VecDeque::new();
            }
        };
        let closes = Instant::now() + self.limits.batch_closes_after;
        let mut done = Vec::with_capacity(jobs.len());
        while let Some(job) = jobs.pop_front() {
            let is_apart = matches!(job, StoreJob::Lend(_)) && self.store.lends_apart();
            if is_apart && !done.is_empty() {
                jobs.push_front(job); // the first of the next group
                break;
            }
            let next = match job {
                StoreJob::Write(job) => {
                    let batch = WriteBatch::take(job, &mut jobs);
                    if batch.is_empty() {
                        continue;
                    }
                    write_batch(transaction, batch, &mut done, &mut jobs).await
                }
                StoreJob::Lend(job) => self.lend(transaction, job, &mut done).await,
            };
            match next {
                Ok(open) => transaction = open,
                Err(poisoned) => return discard(poisoned, done, jobs),
            }
            if is_apart || Instant::now() >= closes {
                break;
            }
        }
        let began = Instant::now();
        let end = commit(transaction).await;
        let jobs_done = done.iter().map(|done| done.batch.len()).sum();
        group_ended(jobs_done, began.elapsed(), end.as_ref().err().map(error_type));
        if let Err(cause) = &end {
            error!(error = cause as &dyn Error, jobs = jobs_done, "failed to commit");
            if matches!(cause, StoreError::Unavailable { .. })
                && done.iter().any(|done| done.is_borrowers)
            {
                // Nothing was written, and a borrower may be the cause: a constraint that it
                // deferred to the commit.
                return discard(
                    PoisonedBatch { cause: cause.clone(), by: PoisonedBy::Borrower },
                    done,
                    jobs,
                );
            }
        }
        done.into_iter().for_each(|done| done.answer(&end));
        jobs
    }

    async fn begin(&self) -> Result<Open, StoreError> {
        failpoint("writer.begins").await?;
        let transaction = self.store.begin().await?;
        failpoint("writer.begun").await?;
        Ok(transaction)
    }

    async fn lend(
        &self,
        mut transaction: Open,
        mut job: LeaseJob,
        done: &mut Vec<PendingBatch>,
    ) -> Result<Open, PoisonedBatch> {
        // Lent to a caller that has left, it would come back at once; other jobs need not wait for
        // that.
        if job.reply.is_closed() || !job.reply.begins() {
            return Ok(transaction);
        }
        let LeaseJob { label, call, reply, permit } = job;
        if let Err(cause) = savepoint(&mut transaction, call.as_ref()).await {
            reply.send(Err(unwritten(&cause)));
            return Err(poisoned_by_store(cause));
        }
        transaction.lend_for(self.limits.transaction_deadline);
        let patience = self.limits.store_timeout;
        let (lease, returned) = Lease::lend(transaction, label.clone(), patience);
        reply.send(Ok(lease));
        let Ok(LeaseReturn { transaction, end }) = self.lease_return(&label, returned).await else {
            // Cannot happen while a lease is returned on drop; the transaction is lost with it and
            // rolled back.
            let cause = StoreError::unavailable("the transaction was lost with its borrower");
            return Err(PoisonedBatch { cause, by: PoisonedBy::Borrower });
        };
        if let Err(failed) = failpoint("writer.returned").await {
            return Err(poisoned_by_store(failed.into()));
        }
        let Some(End { keep: fate, record, committed }) = end else {
            return undo(transaction, &label).await;
        };
        let job = WriteJob { writes: record, reply: committed, permit };
        match fate {
            Keep::Keep => keep(transaction, &label, job, done).await,
            Keep::Undo => match undo(transaction, &label).await {
                Ok(transaction) => write_job(transaction, job, done).await,
                Err(poisoned) => {
                    // The record is written again with the others, without the borrower's writes.
                    let batch = WriteBatch::of(job);
                    done.push(PendingBatch { batch, result: Ok(()), is_borrowers: false });
                    Err(poisoned)
                }
            },
        }
    }

    /// Waits for the transaction, however long it takes, because only the borrower can return it.
    async fn lease_return(
        &self,
        label: &str,
        mut returned: oneshot::Receiver<LeaseReturn>,
    ) -> Result<LeaseReturn, oneshot::error::RecvError> {
        let lent_at = Instant::now();
        let patience = self.limits.transaction_deadline * OVERDUE_AFTER_DEADLINES;
        if let Ok(lease_return) = timeout(patience, &mut returned).await {
            return lease_return;
        }
        error!(
            tool = label,
            ?patience,
            "a handler blocks its thread or keeps the store's transaction; all writes wait"
        );
        let _overdue = self.health.overdue();
        let lease_return = returned.await;
        warn!(tool = label, after = ?lent_at.elapsed(), "the store's transaction came back late");
        lease_return
    }
}

async fn commit(transaction: Open) -> Result<(), StoreError> {
    failpoint("writer.commits").await?;
    transaction.commit().await?;
    failpoint("writer.committed").await.map_err(StoreError::unknown)
}

/// Writes a batch in one savepoint. If something of several jobs is refused, each job is given a
/// savepoint of its own.
async fn write_batch(
    transaction: Open,
    batch: WriteBatch,
    done: &mut Vec<PendingBatch>,
    not_begun: &mut VecDeque<StoreJob>,
) -> Result<Open, PoisonedBatch> {
    let (mut transaction, mut jobs) = match in_savepoint(transaction, batch.writes()).await {
        Ok((transaction, Err(_))) if batch.len() > 1 => (transaction, batch.into_jobs()),
        concluded => return await_commit(concluded, batch, false, done).map_err(poisoned_by_store),
    };
    while let Some(job) = jobs.next() {
        match write_job(transaction, job, done).await {
            Ok(open) => transaction = open,
            Err(poisoned) => {
                // All jobs of the batch were begun together.
                jobs.rev().filter_map(again).for_each(|job| not_begun.push_front(job));
                return Err(poisoned);
            }
        }
    }
    Ok(transaction)
}

async fn write_job(
    transaction: Open,
    job: WriteJob,
    done: &mut Vec<PendingBatch>,
) -> Result<Open, PoisonedBatch> {
    let batch = WriteBatch::of(job);
    let concluded = in_savepoint(transaction, batch.writes()).await;
    await_commit(concluded, batch, false, done).map_err(poisoned_by_store)
}

/// Writes the record in the savepoint of the borrower's writes: both are kept, or neither is.
async fn keep(
    transaction: Open,
    label: &str,
    job: WriteJob,
    done: &mut Vec<PendingBatch>,
) -> Result<Open, PoisonedBatch> {
    let record = WriteBatch::of(job);
    let concluded = conclude(transaction, record.writes()).await;
    await_commit(concluded, record, true, done).map_err(|cause| broken(label, cause))
}

/// Lets a written batch wait for the commit, or answers its callers that nothing was written.
fn await_commit(
    concluded: Concluded,
    batch: WriteBatch,
    is_borrowers: bool,
    done: &mut Vec<PendingBatch>,
) -> Result<Open, StoreError> {
    match concluded {
        Ok((transaction, result)) => {
            done.push(PendingBatch { batch, result, is_borrowers });
            Ok(transaction)
        }
        Err(cause) => {
            batch.answer(&Err(unwritten(&cause)));
            Err(cause)
        }
    }
}

async fn undo(mut transaction: Open, label: &str) -> Result<Open, PoisonedBatch> {
    let undone = match failpoint("writer.undo").await {
        Ok(()) => transaction.undo().await,
        Err(failed) => Err(failed.into()),
    };
    match undone {
        Ok(()) => Ok(transaction),
        Err(cause) => Err(broken(label, cause)),
    }
}

const fn poisoned_by_store(cause: StoreError) -> PoisonedBatch {
    PoisonedBatch { cause, by: PoisonedBy::Store }
}

fn broken(label: &str, cause: StoreError) -> PoisonedBatch {
    error!(tool = label, error = &cause as &dyn Error, "a handler broke the store's transaction");
    PoisonedBatch { cause, by: PoisonedBy::Borrower }
}

/// Names a failed commit in metrics.
fn error_type(cause: &StoreError) -> &'static str {
    match cause {
        StoreError::Unavailable { .. } => "unavailable",
        StoreError::Unknown { .. } | StoreError::Silent => "unknown",
        StoreError::Illegal(_) | StoreError::Refused { .. } | StoreError::TooMuchStored => {
            "refused"
        }
        StoreError::Overloaded | StoreError::Withdrawn => "overloaded",
    }
}
