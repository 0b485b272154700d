//! The StoreActor: starts tracked writer tasks for waiting jobs.

use std::{pin::pin, sync::Arc};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio_util::task::TaskTracker;

use super::{Jobs, StoreMsg, WriterHealth, writer::Writer};
use crate::{
    failpoint::failpoint, mailbox::answer, port::Store, protocol::Limits, registry::polled,
};

/// Starts a writer whenever a job waits and a writer is idle. If it is killed, a group that has
/// begun is finished and answered, and waiting jobs are written after its restart. If it is stopped
/// in order, it refuses waiting and later jobs.
#[derive(Debug)]
pub struct StoreActor;

/// The parts of a StoreActor, which are the same after a restart.
#[derive(Debug, Clone)]
pub struct StoreArguments {
    /// The store that is written.
    pub store: Arc<dyn Store>,
    /// The bounds of groups and waits.
    pub limits: Arc<Limits>,
    /// The tracker of writer tasks. They outlive the actor, and shutdown waits for them.
    pub tasks: TaskTracker,
    /// The health of the writers.
    pub health: Arc<WriterHealth>,
    /// The waiting jobs, which are kept during a restart of the actor.
    pub jobs: Jobs,
}

/// The state of a StoreActor.
#[derive(Debug)]
pub struct StoreState {
    jobs: Jobs,
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
        let StoreArguments { store, limits, tasks, health, jobs } = arguments;
        let writer = Arc::new(Writer::new(store, limits, health));
        let state = StoreState { jobs, writer, tasks };
        state.start_writers();
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<StoreMsg>,
        msg: StoreMsg,
        state: &mut StoreState,
    ) -> Result<(), ActorProcessingErr> {
        failpoint("store.handle").await?;
        match msg {
            StoreMsg::Work => {}
            StoreMsg::Waiting { reply } => answer(reply, state.jobs.waiting_len()),
        }
        state.start_writers();
        Ok(())
    }

    async fn post_stop(
        &self,
        _: ActorRef<StoreMsg>,
        state: &mut StoreState,
    ) -> Result<(), ActorProcessingErr> {
        state.jobs.close();
        Ok(())
    }
}

impl StoreState {
    fn start_writers(&self) {
        while let Some(mut batch) = self.jobs.next_batch() {
            let jobs = self.jobs.clone();
            let writer = self.writer.clone();
            self.tasks.spawn(async move {
                loop {
                    // A panic costs no other group: the writer goes on with the jobs that wait.
                    let left = polled(pin!(writer.write(batch))).await;
                    jobs.written(left.unwrap_or_default());
                    match jobs.next_batch() {
                        Some(next) => batch = next,
                        None => break,
                    }
                }
            });
        }
    }
}
