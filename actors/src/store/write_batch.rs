//! Plain writes of a group that share one savepoint: fewer trips to the store.

use std::collections::VecDeque;

use super::{StoreJob, WriteJob};
use crate::port::{StoreError, Write};

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
    /// Begins this job and the plain writes that wait behind it, in their order. Leases in between wait for them: a
    /// write is quick, and a borrower may take its whole deadline. Withdrawn jobs are left out.
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

    /// Tells whether all of its jobs were withdrawn.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Gives the facts of all jobs.
    pub(super) fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Tells all callers the same; their permits are free afterwards.
    pub(super) fn answer(self, result: &Result<(), StoreError>) {
        self.jobs.into_iter().for_each(|job| job.reply.send(result.clone()));
    }

    /// Gives the jobs, each with its own facts.
    pub(super) fn into_jobs(self) -> impl DoubleEndedIterator<Item = WriteJob> {
        let Self { mut jobs, writes, lengths } = self;
        let mut writes = writes.into_iter();
        for (job, length) in jobs.iter_mut().zip(lengths) {
            job.writes = writes.by_ref().take(length).collect();
        }
        jobs.into_iter()
    }
}
