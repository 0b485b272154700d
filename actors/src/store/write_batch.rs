//! Plain writes of a group that are written in one savepoint: fewer trips to the store.

use std::collections::VecDeque;

use super::{StoreJob, WriteJob};
use crate::port::{StoreError, Write};

/// Jobs in one batch: a group looks at its clock between batches.
const LONGEST: usize = 64;

/// Plain writes that are written together, in one savepoint.
pub(super) struct WriteBatch {
    jobs: Vec<WriteJob>,
    /// Those of all jobs, in order; each job has its own again once they are taken apart.
    writes: Vec<Write>,
    /// How many of them each job has.
    lengths: Vec<usize>,
}

impl WriteBatch {
    /// Begins this job and the plain writes that wait behind it, in their order. Leases in between wait for them: a
    /// write is quick, and a borrower may take its whole deadline. What was withdrawn is left out.
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

    fn push(&mut self, mut job: WriteJob) {
        if !job.reply.begins() {
            return;
        }
        self.lengths.push(job.writes.len());
        self.writes.append(&mut job.writes);
        self.jobs.push(job);
    }

    /// How many jobs it is.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// All of its jobs were withdrawn.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// What all of them write.
    pub(super) fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Tells all of them the same; their permits are free behind it.
    pub(super) fn answer(self, result: &Result<(), StoreError>) {
        self.jobs.into_iter().for_each(|job| job.reply.send(result.clone()));
    }

    /// The jobs, each with its own writes.
    pub(super) fn apart(self) -> impl DoubleEndedIterator<Item = WriteJob> {
        let Self { mut jobs, writes, lengths } = self;
        let mut writes = writes.into_iter();
        for (job, length) in jobs.iter_mut().zip(lengths) {
            job.writes = writes.by_ref().take(length).collect();
        }
        jobs.into_iter()
    }
}
