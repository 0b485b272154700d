//! The shell of the LlmActor: runs as many completions as the model serves at once, the rest wait in the queue.

use std::sync::Arc;

use metrics::SharedString;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, debug};

use super::{LlmEvent, LlmMsg, queue::Queue};
use crate::{
    failpoint::failpoint,
    mailbox::{Alarm, Reply, answer},
    port::{ChatModel, Deltas, ModelError},
    protocol::{Completion, CompletionRequest, Limits},
    telemetry::CompletionSpan,
};

/// Stands before one model.
#[derive(Debug)]
pub struct LlmActor;

/// What an [`LlmActor`] starts with.
#[derive(Debug, Clone)]
pub struct LlmArguments {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// The bounds.
    pub limits: Arc<Limits>,
}

/// The state of an [`LlmActor`]. Its completions end with it: their askers hear `EngineDied`.
#[derive(Debug)]
pub struct LlmState {
    model: Arc<dyn ChatModel>,
    /// The model's, as watchers see it.
    name: SharedString,
    limits: Arc<Limits>,
    waiting: Queue<Job>,
    busy: usize,
    running: JoinSet<()>,
    alarm: Option<Alarm>,
}

#[derive(Debug)]
struct Job {
    request: Box<CompletionRequest>,
    deltas: Deltas,
    cancel: CancellationToken,
    due: Instant,
    span: CompletionSpan,
    reply: Reply<LlmEvent>,
}

impl Actor for LlmActor {
    type Msg = LlmMsg;
    type State = LlmState;
    type Arguments = LlmArguments;

    async fn pre_start(
        &self,
        _: ActorRef<LlmMsg>,
        arguments: LlmArguments,
    ) -> Result<LlmState, ActorProcessingErr> {
        let LlmArguments { model, limits } = arguments;
        let waiting = Queue::new(limits.max_waiting_completions);
        let name = SharedString::from(model.info().name);
        let running = JoinSet::new();
        Ok(LlmState { model, name, limits, waiting, busy: 0, running, alarm: None })
    }

    async fn handle(
        &self,
        me: ActorRef<LlmMsg>,
        msg: LlmMsg,
        state: &mut LlmState,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            LlmMsg::Complete { request, deltas, cancel, span, reply } => {
                failpoint("llm.complete").await?;
                let due = Instant::now() + state.limits.completion_timeout;
                let span = CompletionSpan::begin(&span, &state.name, &request);
                state.admit(Job { request, deltas, cancel, due, span, reply });
            }
            LlmMsg::QueueLength { reply } => answer(reply, state.waiting.len()),
            LlmMsg::Freed => {
                failpoint("llm.freed").await?;
                state.busy -= 1;
                state.forget_ended();
            }
            LlmMsg::Due => {
                state.alarm = None;
                state.take_out();
            }
        }
        state.start(&me);
        state.set_alarm(&me);
        Ok(())
    }
}

impl LlmState {
    fn admit(&mut self, job: Job) {
        if self.waiting.len() >= self.limits.max_waiting_completions {
            self.take_out();
        }
        let (user, due) = (job.request.user.clone(), job.due);
        if let Err(job) = self.waiting.push(user, due, job) {
            job.end(Err(ModelError::failed(ModelError::OVERLOADED)));
        }
    }

    /// Ends what waited too long or is not wanted any more.
    fn take_out(&mut self) {
        for job in self.waiting.take_out(Instant::now(), |job| job.cancel.is_cancelled()) {
            let error = if job.cancel.is_cancelled() {
                ModelError::Cancelled { usage: Default::default() }
            } else {
                ModelError::failed(ModelError::TIMEOUT)
            };
            job.end(Err(error));
        }
    }

    fn start(&mut self, me: &ActorRef<LlmMsg>) {
        while self.busy < self.model.info().max_concurrent.max(1) {
            let Some(job) = self.waiting.next() else { return };
            self.busy += 1;
            let (model, freed) = (self.model.clone(), Freed(me.clone()));
            self.running.spawn(async move {
                // Dropped last, also when the model panics: the place is free only after the asker has heard.
                let _freed = freed;
                run(&*model, job).await;
            });
        }
    }

    fn forget_ended(&mut self) {
        while let Some(ended) = self.running.try_join_next() {
            if let Err(error) = ended {
                debug!(%error, "a completion's task failed; its asker was told");
            }
        }
    }

    /// Keeps one timer for the completion that waits longest.
    fn set_alarm(&mut self, me: &ActorRef<LlmMsg>) {
        let due = self.waiting.next_due();
        Alarm::keep(&mut self.alarm, due, me, || LlmMsg::Due);
    }
}

async fn run(model: &dyn ChatModel, job: Job) {
    let Job { request, deltas, cancel, due, span, reply } = job;
    let completion = request.id;
    let mine = cancel.child_token();
    let result = if cancel.is_cancelled() {
        Err(ModelError::Cancelled { usage: Default::default() })
    } else {
        span.runs();
        let work = model.complete(*request, deltas, mine.clone());
        let work = work.instrument(span.span().clone());
        // Dropping the model's future cancels it; `mine` also reaches what it handed to another thread.
        let result = tokio::time::timeout_at(due, work).await;
        result.unwrap_or_else(|_| Err(ModelError::failed(ModelError::TIMEOUT)))
    };
    mine.cancel();
    debug!(%completion, is_ok = result.is_ok(), "completion ended");
    span.ended(&result);
    reply.send(LlmEvent::Ended { completion, result });
}

impl Job {
    fn end(self, result: Result<Completion, ModelError>) {
        let Self { request, span, reply, .. } = self;
        span.ended(&result);
        reply.send(LlmEvent::Ended { completion: request.id, result });
    }
}

/// Tells the actor that a place is free, however the completion ended.
struct Freed(ActorRef<LlmMsg>);

impl Drop for Freed {
    fn drop(&mut self) {
        if self.0.cast(LlmMsg::Freed).is_err() {
            debug!("the model's actor is gone");
        }
    }
}
