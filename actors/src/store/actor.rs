//! The shell of the StoreActor: it queues, and starts tracked writer tasks.

use std::{collections::VecDeque, sync::Arc};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio_util::task::TaskTracker;
use tracing::debug;

use super::{Job, StoreMsg, WriterHealth, queue::Queue, writer::Writer};
use crate::{failpoint::failpoint, mailbox::answer, port::Store, protocol::Limits};

/// Queues what is to be written. A group that has begun is finished and answered even if the actor is killed; what
/// waited in its queue is lost, and whoever waits for it hears [`Silent`](crate::port::StoreError::Silent).
#[derive(Debug)]
pub struct StoreActor;

/// What a StoreActor is made of; the same again after a restart.
#[derive(Debug, Clone)]
pub struct StoreArguments {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The bounds.
    pub limits: Arc<Limits>,
    /// Where writer tasks run: they outlive the actor, and shutdown waits for them.
    pub tasks: TaskTracker,
    /// What is known of the writers' health.
    pub health: Arc<WriterHealth>,
}

/// What a StoreActor knows.
#[derive(Debug)]
pub struct StoreState {
    queue: Queue<Job>,
    writer: Arc<Writer>,
    tasks: TaskTracker,
}

impl Actor for StoreActor {
    type Msg = StoreMsg;
    type State = StoreState;
    type Arguments = StoreArguments;

    async fn pre_start(
        &self,
        _: ActorRef<StoreMsg>,
        arguments: StoreArguments,
    ) -> Result<StoreState, ActorProcessingErr> {
        let StoreArguments { store, limits, tasks, health } = arguments;
        let queue = Queue::new(store.writers(), limits.max_batch_jobs);
        Ok(StoreState { queue, writer: Arc::new(Writer::new(store, limits, health)), tasks })
    }

    async fn handle(
        &self,
        me: ActorRef<StoreMsg>,
        msg: StoreMsg,
        state: &mut StoreState,
    ) -> Result<(), ActorProcessingErr> {
        failpoint("store.handle").await?;
        match msg {
            StoreMsg::Job(job) => state.queue.push(job),
            StoreMsg::Waiting { reply } => answer(reply, state.queue.waiting_len()),
            StoreMsg::Written { left } => state.queue.written(left),
        }
        while let Some(batch) = state.queue.next_batch() {
            let writer = state.writer.clone();
            let report = Report { to: me.clone(), left: VecDeque::new() };
            state.tasks.spawn(async move { report.leave(writer.write(batch).await) });
        }
        Ok(())
    }
}

/// Tells the actor that a writer is idle again, even if its task panicked.
struct Report {
    to: ActorRef<StoreMsg>,
    left: VecDeque<Job>,
}

impl Report {
    fn leave(mut self, left: VecDeque<Job>) {
        self.left = left;
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if self.to.cast(StoreMsg::Written { left: std::mem::take(&mut self.left) }).is_err() {
            debug!("a group ended after its actor");
        }
    }
}
