//! The way to the store: the handle that all other code has, and the queue of jobs, which outlives
//! the actor that starts the writers.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Lease, LeaseJob, ReplySender, StoreJob, StoreMsg, WriteJob,
    reply::{PendingReply, reply},
    stage::Stage,
};
use crate::{
    failpoint::failpoint,
    mailbox::{Address, AskError},
    port::{Store, StoreError, Write},
    protocol::{CallId, Limits, SessionId},
};

/// The handle through which all other code reaches the store. Cheap to clone.
///
/// Each caller receives one result, and it stays true. A job that no writer took within
/// `Limits::store_timeout` is withdrawn with [`StoreError::Withdrawn`]: it was not written, and
/// will not be. A job that a writer has begun is answered by that writer, however long that takes.
///
/// Dropping its futures is safe: a job that was sent is still done, although nobody waits for its
/// result. A lease that is not taken is returned.
#[derive(Debug, Clone)]
pub struct StoreHandle {
    store: Arc<dyn Store>,
    writer: Address<StoreMsg>,
    jobs: Jobs,
    permits: Arc<Semaphore>,
    answers_within: Duration,
}

impl StoreHandle {
    /// Makes a handle to this store, whose actor at `writer` writes these jobs. Make one and clone
    /// it, because it counts the waiting jobs.
    #[must_use]
    pub fn new(
        writer: Address<StoreMsg>,
        jobs: Jobs,
        store: Arc<dyn Store>,
        limits: &Limits,
    ) -> Self {
        let permits =
            Arc::new(Semaphore::new(limits.max_waiting_writes.min(Semaphore::MAX_PERMITS)));
        Self { store, writer, jobs, permits, answers_within: limits.store_timeout }
    }

    /// Returns the store itself, for reads.
    #[must_use]
    pub const fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Counts the jobs that wait for a writer. All jobs sent from here before have reached the
    /// queue by then.
    ///
    /// # Errors
    /// [`AskError`] if the actor is gone or does not answer.
    pub async fn waiting(&self) -> Result<usize, AskError> {
        self.writer.ask(|reply| StoreMsg::Waiting { reply }, self.answers_within).await
    }

    /// Makes facts durable, all of them or none.
    ///
    /// # Errors
    /// [`StoreError`]. [`may_have_happened`](StoreError::may_have_happened) says whether the store
    /// must be asked.
    pub async fn write(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.begin_write(writes).await
    }

    /// Does the same, but sends the job before the future is polled, so that the order of these
    /// calls is the order of the writes.
    ///
    /// # Errors
    /// The future returns the errors of [`write`](Self::write).
    pub fn begin_write(
        &self,
        writes: Vec<Write>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        sent(self.send(|reply, permit| StoreJob::Write(WriteJob { writes, reply, permit })))
    }

    /// Borrows the writer's open transaction. The label names the borrower in the log.
    ///
    /// # Errors
    /// [`StoreError`]. No fact was written then.
    pub fn lease(
        &self,
        label: Arc<str>,
    ) -> impl Future<Output = Result<Lease, StoreError>> + Send + 'static {
        self.lease_for(label, None)
    }

    /// Does the same for the handler of a call, which will be recorded when the lease ends.
    ///
    /// # Errors
    /// The errors of [`lease`](Self::lease).
    pub fn lease_for(
        &self,
        label: Arc<str>,
        call: Option<(SessionId, CallId)>,
    ) -> impl Future<Output = Result<Lease, StoreError>> + Send + 'static {
        let job = |reply, permit| StoreJob::Lend(LeaseJob { label, call, reply, permit });
        sent(self.send(job))
    }

    /// Takes a permit of the queue, and sends the job.
    fn send<T>(
        &self,
        job: impl FnOnce(ReplySender<T>, OwnedSemaphorePermit) -> StoreJob,
    ) -> Result<PendingReply<T>, StoreError> {
        let permit = self.permit().ok_or(StoreError::Overloaded)?;
        let (reply, answer) = reply(Stage::Queued, self.answers_within);
        if self.jobs.push(job(reply, permit)) == Writers::Idle {
            // If the actor is gone just now, the next one finds the job.
            let _ = self.writer.send(StoreMsg::Work);
        }
        Ok(answer)
    }

    /// Takes a permit. Withdrawn jobs make room for others.
    fn permit(&self) -> Option<OwnedSemaphorePermit> {
        let permit = || self.permits.clone().try_acquire_owned().ok();
        permit().or_else(|| {
            self.jobs.shed();
            permit()
        })
    }
}

/// Waits for the result of a job that was sent.
async fn sent<T>(answer: Result<PendingReply<T>, StoreError>) -> Result<T, StoreError> {
    let told = answer?.wait().await?;
    failpoint("handle.sent").await.map_err(|_| StoreError::Silent)?;
    Ok(told)
}

/// The jobs that wait for the store's writers. Cheap to clone. None is lost when the StoreActor
/// dies: the next one finds them here.
#[derive(Debug, Clone)]
pub struct Jobs(Arc<Mutex<Queue<StoreJob>>>);

impl Jobs {
    /// Makes an empty queue for this many writers.
    #[must_use]
    pub fn new(writers: usize, limits: &Limits) -> Self {
        Self(Arc::new(Mutex::new(Queue::new(writers, limits.max_batch_jobs))))
    }

    /// Accepts no more jobs, because no actor is left to start a writer. Waiting jobs are refused.
    pub(crate) fn close(&self) {
        let left = self.queue().close();
        left.into_iter().for_each(|job| job.refuse(gone()));
    }

    /// Adds a job, and returns whether a writer is to be started for it. The job is refused after
    /// the queue is closed.
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
        // Not under the lock: each answers its caller.
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

/// Makes the error of a job that no actor will take.
fn gone() -> StoreError {
    StoreError::unavailable("the actor in front of the store is gone")
}

/// A queue before a number of writers.
#[derive(Debug)]
pub(super) struct Queue<J> {
    waiting: VecDeque<J>,
    idle_writers: usize,
    /// Whether the actor was asked to start a writer, and has not looked yet.
    is_told: bool,
    max_batch_jobs: usize,
    is_closed: bool,
}

/// Whether the actor must learn that a job waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    /// A writer is idle and is to be started.
    Idle,
    /// Each writer is busy, or the actor was already asked. The first that is free looks for
    /// waiting jobs.
    Busy,
}

impl<J> Queue<J> {
    /// Makes an empty queue whose writers are idle.
    pub(super) fn new(writers: usize, max_batch_jobs: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            idle_writers: writers.max(1),
            is_told: false,
            max_batch_jobs: max_batch_jobs.max(1),
            is_closed: false,
        }
    }

    /// Adds a job, and returns whether a writer is idle that should look for it. Returns the job
    /// itself after the queue is closed.
    pub(super) fn push(&mut self, job: J) -> Result<Writers, J> {
        if self.is_closed {
            return Err(job);
        }
        self.waiting.push_back(job);
        if self.idle_writers == 0 || std::mem::replace(&mut self.is_told, true) {
            return Ok(Writers::Busy);
        }
        Ok(Writers::Idle)
    }

    /// Accepts no more jobs, and returns those that wait.
    pub(super) fn close(&mut self) -> VecDeque<J> {
        self.is_closed = true;
        std::mem::take(&mut self.waiting)
    }

    /// Takes out jobs that are over, oldest first, up to the first that is not: all wait equally
    /// long.
    pub(super) fn shed(&mut self, is_over: impl Fn(&J) -> bool) -> Vec<J> {
        let mut shed = Vec::new();
        while self.waiting.front().is_some_and(&is_over) {
            shed.extend(self.waiting.pop_front());
        }
        shed
    }

    /// Counts the waiting jobs.
    pub(super) fn waiting_len(&self) -> usize {
        self.waiting.len()
    }

    /// Marks a writer as idle again; its leftover jobs go before all later ones.
    pub(super) fn written(&mut self, mut left: VecDeque<J>) {
        left.append(&mut self.waiting);
        self.waiting = left;
        self.idle_writers += 1;
    }

    /// Returns the group of an idle writer: all waiting jobs, up to the bound.
    pub(super) fn next_batch(&mut self) -> Option<VecDeque<J>> {
        self.is_told = false;
        if self.idle_writers == 0 || self.waiting.is_empty() {
            return None;
        }
        self.idle_writers -= 1;
        let rest = self.waiting.split_off(self.waiting.len().min(self.max_batch_jobs));
        Some(std::mem::replace(&mut self.waiting, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_while_the_writer_is_busy_is_the_next_group() {
        let mut queue = Queue::new(1, 10);
        assert_eq!(queue.push(1), Ok(Writers::Idle));
        assert_eq!(queue.next_batch(), Some([1].into()));
        assert_eq!(queue.push(2), Ok(Writers::Busy));
        assert_eq!(queue.push(3), Ok(Writers::Busy));
        assert_eq!(queue.next_batch(), None, "one writer, one group at a time");
        queue.written(VecDeque::new());
        assert_eq!(queue.next_batch(), Some([2, 3].into()));
        queue.written(VecDeque::new());
        assert_eq!(queue.next_batch(), None, "nothing waits");
    }

    #[test]
    fn a_group_has_a_bound_and_the_rest_keeps_its_order() {
        let mut queue = Queue::new(1, 2);
        assert_eq!(queue.push(1), Ok(Writers::Idle));
        (2..=5).for_each(|job| assert_eq!(queue.push(job), Ok(Writers::Busy), "told already"));
        assert_eq!(queue.next_batch(), Some([1, 2].into()));
        queue.written(VecDeque::new());
        assert_eq!(queue.next_batch(), Some([3, 4].into()));
        queue.written([4].into());
        assert_eq!(queue.push(6), Ok(Writers::Idle));
        assert_eq!(queue.next_batch(), Some([4, 5].into()), "what was left undone comes first");
    }

    #[test]
    fn what_is_over_is_taken_out_before_any_writer_comes_to_it() {
        let mut queue = Queue::new(1, 2);
        assert_eq!(queue.push(1), Ok(Writers::Idle));
        (2..=4).for_each(|job| assert_eq!(queue.push(job), Ok(Writers::Busy), "told already"));
        assert_eq!(queue.shed(|job| *job < 3), [1, 2]);
        assert!(queue.shed(|job| *job == 4).is_empty(), "behind one that still waits");
        assert_eq!(queue.next_batch(), Some([3, 4].into()));
    }

    #[test]
    fn a_closed_queue_gives_everything_back() {
        let mut queue = Queue::new(1, 2);
        assert_eq!(queue.push(1), Ok(Writers::Idle));
        assert_eq!(queue.close(), [1]);
        assert_eq!(queue.push(2), Err(2));
        assert_eq!(queue.next_batch(), None);
    }

    #[test]
    fn as_many_groups_run_at_once_as_there_are_writers() {
        let mut queue = Queue::new(2, 1);
        assert_eq!(queue.push(1), Ok(Writers::Idle));
        (2..=3).for_each(|job| assert_eq!(queue.push(job), Ok(Writers::Busy), "told already"));
        assert_eq!(queue.next_batch(), Some([1].into()));
        assert_eq!(queue.next_batch(), Some([2].into()));
        assert_eq!(queue.next_batch(), None);
        queue.written(VecDeque::new());
        assert_eq!(queue.next_batch(), Some([3].into()));
    }
}
