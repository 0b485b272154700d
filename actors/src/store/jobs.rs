//! What waits for the store's writers, apart from the actor that starts them: it outlives the actor.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ractor::ActorRef;
use tracing::debug;

use super::{
    StoreJob, StoreMsg,
    queue::{Queue, Writers},
};
use crate::{port::StoreError, protocol::Limits};

/// What waits for the store's writers. Cheap to clone. Nothing of it is lost when the StoreActor dies: the next one finds
/// it here.
#[derive(Debug, Clone)]
pub struct Jobs {
    queue: Arc<Mutex<Queue<StoreJob>>>,
    /// Who starts writers now; `None` before the first actor.
    starter: Arc<Mutex<Option<ActorRef<StoreMsg>>>>,
}

/// Nobody writes any more.
#[derive(Debug, thiserror::Error)]
#[error("the actor in front of the store is gone")]
struct Gone;

impl Jobs {
    /// Nothing waits before so many writers.
    #[must_use]
    pub fn new(writers: usize, limits: &Limits) -> Self {
        let queue = Arc::new(Mutex::new(Queue::new(writers, limits.max_batch_jobs)));
        Self { queue, starter: Arc::default() }
    }

    /// Takes no more jobs: nobody is left to start a writer for them. Those that wait are refused.
    pub(crate) fn close(&self) {
        let left = self.queue().close();
        left.into_iter().for_each(|job| job.refuse(StoreError::unavailable(Gone)));
    }

    /// A job comes, and says whether a writer is to be started for it. It is refused once nobody takes any more.
    pub(super) fn push(&self, job: StoreJob) -> Writers {
        let pushed = self.queue().push(job);
        // Not under the lock: whoever is refused does what it likes.
        pushed.unwrap_or_else(|job| {
            job.refuse(StoreError::unavailable(Gone));
            Writers::Busy
        })
    }

    /// From now on this actor starts writers. It looks for what waits behind this.
    pub(super) fn started_by(&self, actor: ActorRef<StoreMsg>) {
        *self.starter() = Some(actor);
    }

    /// A writer panicked: whoever starts writers by now is to start another. An actor that comes later looks by itself.
    pub(super) fn writer_failed(&self) {
        self.written(VecDeque::new());
        let starter = self.starter().clone();
        if starter.is_none_or(|actor| actor.cast(StoreMsg::Work).is_err()) {
            debug!("a writer failed while nobody starts another");
        }
    }

    fn starter(&self) -> MutexGuard<'_, Option<ActorRef<StoreMsg>>> {
        self.starter.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.queue.lock().expect("no code under this lock panics")
    }
}
