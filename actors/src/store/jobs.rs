//! What waits for the store's writers, apart from the actor that starts them: it outlives the actor.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    Job,
    queue::{Queue, Writers},
};
use crate::port::StoreError;

/// What waits for the store's writers. Cheap to clone. Nothing of it is lost when the StoreActor dies: the next one finds
/// it here.
#[derive(Debug, Clone)]
pub struct Jobs(Arc<Mutex<Queue<Job>>>);

/// Nobody writes any more.
#[derive(Debug, thiserror::Error)]
#[error("the actor in front of the store is gone")]
struct Gone;

impl Jobs {
    /// Nothing waits before so many writers, which take so many jobs in a group.
    #[must_use]
    pub fn new(writers: usize, max_batch_jobs: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue::new(writers, max_batch_jobs))))
    }

    /// Takes no more jobs: nobody is left to start a writer for them. Those that wait are refused.
    pub(crate) fn close(&self) {
        let left = self.queue().close();
        left.into_iter().for_each(|job| job.refuse(StoreError::unavailable(Gone)));
    }

    pub(super) fn push(&self, job: Job) -> Result<Writers, StoreError> {
        let pushed = self.queue().push(job);
        // The job is dropped outside of the lock.
        pushed.map_err(|_| StoreError::unavailable(Gone))
    }

    pub(super) fn waiting_len(&self) -> usize {
        self.queue().waiting_len()
    }

    pub(super) fn next_batch(&self) -> Option<VecDeque<Job>> {
        self.queue().next_batch()
    }

    pub(super) fn written(&self, left: VecDeque<Job>) {
        self.queue().written(left);
    }

    fn queue(&self) -> MutexGuard<'_, Queue<Job>> {
        self.0.lock().expect("no code under this lock panics")
    }
}
