//! What a group has done and waits for the commit, and what becomes of it where the group is discarded.

use std::{collections::VecDeque, error::Error};

use tokio::sync::OwnedSemaphorePermit;
use tracing::error;

use super::{Job, TimedReply, WriteJob, run::Run};
use crate::port::{StoreError, Write};

/// What waits for the commit.
pub(super) enum Done {
    Job {
        reply: TimedReply<()>,
        result: Result<(), StoreError>,
        /// What a plain write takes to be done once more.
        again: Option<(Vec<Write>, OwnedSemaphorePermit)>,
    },
    /// Plain writes of which none was refused.
    Run(Run),
}

/// The group's transaction cannot be used any more; nothing of the group was written.
pub(super) struct Spoiled {
    pub(super) cause: StoreError,
    pub(super) by: Spoiler,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoiler {
    /// The store itself fails.
    Store,
    /// A borrower ended or broke the transaction: the others are written again without it.
    Borrower,
}

impl Done {
    /// How many jobs it is.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Job { .. } => 1,
            Self::Run(run) => run.len(),
        }
    }

    pub(super) fn is_borrowers(&self) -> bool {
        matches!(self, Self::Job { again: None, .. })
    }

    /// Tells how the group ended, and with it what it did.
    pub(super) fn answer(self, end: &Result<(), StoreError>) {
        match self {
            Self::Job { reply, result, .. } => reply.send(end.clone().and(result)),
            Self::Run(run) => run.answer(end),
        }
    }
}

impl WriteJob {
    pub(super) fn done(self, result: Result<(), StoreError>) -> Done {
        Done::Job { reply: self.reply, result, again: Some((self.writes, self.place)) }
    }
}

/// Nothing of the group was written. Plain writes are done again where a borrower spoiled it; all others are answered.
pub(super) fn discard(
    spoiled: Spoiled,
    done: Vec<Done>,
    not_begun: VecDeque<Job>,
) -> VecDeque<Job> {
    let Spoiled { cause, by } = spoiled;
    let jobs: usize = done.iter().map(Done::len).sum();
    error!(error = &cause as &dyn Error, jobs, "a group of writes was discarded");
    let (mut left, unwritten) = (VecDeque::new(), Err(unwritten(&cause)));
    for done in done {
        match (done, by) {
            (Done::Job { reply, again: Some((writes, place)), .. }, Spoiler::Borrower) => {
                left.extend(again(WriteJob { writes, reply, place }));
            }
            (Done::Run(run), Spoiler::Borrower) => left.extend(run.apart().filter_map(again)),
            (done, Spoiler::Borrower | Spoiler::Store) => done.answer(&unwritten),
        }
    }
    left.extend(not_begun);
    left
}

/// The job, to be done once more; `None` where its asker's time is up, who is told that nothing was written.
pub(super) fn again(job: WriteJob) -> Option<Job> {
    job.reply.is_done_again().then_some(Job::Write(job))
}

/// What is told of a job that was surely not written, whatever the store called its failure.
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
