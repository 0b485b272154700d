//! The jobs that wait for the store's writers. They outlive the actor that starts the writers.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    StoreJob,
    queue::{Queue, Writers},
};
use crate::{port::StoreError, protocol::Limits};

/// The jobs that wait for the store's writers. Cheap to clone. None is lost when the StoreActor dies: the next one
/// finds them here.
#[derive(Debug, Clone)]
pub struct Jobs(Arc<Mutex<Queue<StoreJob>>>);

impl Jobs {
    /// Makes an empty queue before so many writers.
    #[must_use]
    pub fn new(writers: usize, limits: &Limits) -> Self {
        Self(Arc::new(Mutex::new(Queue::new(writers, limits.max_batch_jobs))))
    }

    /// Takes no more jobs, because no actor is left to start a writer. Waiting jobs are refused.
    pub(crate) fn close(&self) {
        let left = self.queue().close();
        left.into_iter().for_each(|job| job.refuse(gone()));
    }

    /// Adds a job, and tells whether a writer is to be started for it. The job is refused once the queue is closed.
    pub(super) fn push(&self, job: StoreJob) -> Writers {
        let pushed = self.queue().push(job);
        // Not under the lock: each refusal runs the caller's own code.
        pushed.unwrap_or_else(|job| {
            job.refuse(gone());
            Writers::Busy
        })
    }

    /// Takes out the jobs whose time is up: their permits are free again.
    pub(super) fn shed(&self) {
        let shed = self.queue().shed(StoreJob::is_withdrawn);
        // Not under the lock: each tells its caller.
        drop(shed);
    }

    pub(super) fn waiting_len(&self) -> usize {
        self.shed();
        self.queue().waiting_len()
    }

    pub(super) fn next_batch(&self) -> Option<VecDeque<StoreJob>> {
        self.queue().next_batch()
    }

    pub(super) fn written(&self, left: VecDeque<StoreJob>) {
        self.queue().written(left);
    }

    fn queue(&self) -> MutexGuard<'_, Queue<StoreJob>> {
        self.0.lock().expect("no code under this lock panics")
    }
}

/// Makes the error of a job that no actor takes any more.
fn gone() -> StoreError {
    StoreError::unavailable("the actor in front of the store is gone")
}
