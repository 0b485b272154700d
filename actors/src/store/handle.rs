//! The handle through which all other code reaches the store.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Jobs, Lease, LeaseJob, ReplySender, StoreJob, StoreMsg, WriteJob,
    queue::Writers,
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
/// Each caller is told one result, and it stays true. A job to which no writer came within `Limits::store_timeout` is
/// withdrawn with [`StoreError::Withdrawn`]: it was not written, and will not be. A job that a writer has begun is
/// answered by that writer, however long that takes.
///
/// Dropping its futures is safe: a job that was sent is still done, without a listener. A lease that is not taken is
/// returned.
#[derive(Debug, Clone)]
pub struct StoreHandle {
    store: Arc<dyn Store>,
    writer: Address<StoreMsg>,
    jobs: Jobs,
    permits: Arc<Semaphore>,
    answers_within: Duration,
}

impl StoreHandle {
    /// Makes a handle to this store, whose actor at `writer` writes these jobs. Make one and clone it: it counts the
    /// waiting jobs.
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

    /// Gives the store itself, for reads.
    #[must_use]
    pub const fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Counts the jobs that wait for a writer. All jobs sent from here before have reached the queue by then.
    ///
    /// # Errors
    /// [`AskError`] if the actor is gone or does not answer.
    pub async fn waiting(&self) -> Result<usize, AskError> {
        self.writer.ask(|reply| StoreMsg::Waiting { reply }, self.answers_within).await
    }

    /// Makes facts durable, all of them or none.
    ///
    /// # Errors
    /// [`StoreError`]; [`may_have_happened`](StoreError::may_have_happened) tells whether the store must be asked.
    pub async fn write(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.begin_write(writes).await
    }

    /// Does the same, sent before the future is polled: the order of these calls is the order of the writes.
    ///
    /// # Errors
    /// The future gives what [`write`](Self::write) gives.
    pub fn begin_write(
        &self,
        writes: Vec<Write>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        sent(self.send(|reply, permit| StoreJob::Write(WriteJob { writes, reply, permit })))
    }

    /// Borrows the writer's open transaction. The label names the borrower in the log.
    ///
    /// # Errors
    /// [`StoreError`]; then no fact was written.
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

    /// Takes a permit before the queue, and sends the job.
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
