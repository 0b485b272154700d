//! The queue of a model: the completions that wait, and those that run. A completion begins here if
//! no other waits.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use metrics::SharedString;
use ractor::ActorRef;
use tokio::{task::AbortHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{Span, debug, error};

use super::{
    LlmEvent, LlmMsg, NamedModel,
    completion_job::{CompletionJob, run},
    queue::{Charge, Queue, prompt_cost},
    retry_estimator::RetryEstimator,
};
use crate::{
    mailbox::Reply,
    port::{Deltas, ModelError, UserWeights},
    protocol::{CompletionId, CompletionRequest, Limits, ModelName, Usage},
    telemetry::CompletionSpan,
};

/// The queue of one model. Cheap to clone. It outlives the [`LlmActor`](super::LlmActor) that
/// attends to it, and is open while one does.
///
/// If a slot is free and no completion waits, a completion begins without that actor. The actor
/// begins those that wait, and ends those that waited too long. A completion that ends frees its
/// slot itself.
#[derive(Debug, Clone)]
pub struct ModelQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    model: NamedModel,
    /// The model's name in metrics: the one in its runtime, or else its own.
    label: SharedString,
    limits: Arc<Limits>,
    state: Mutex<QueueState>,
}

#[derive(Debug)]
struct QueueState {
    /// The actor that attends to the queue; `None` between two actors.
    actor: Option<ActorRef<LlmMsg>>,
    waiting: Queue<CompletionJob>,
    running: BTreeMap<u64, RunningCompletion>,
    /// The number of the latest slot.
    begun: u64,
    retries: RetryEstimator,
}

#[derive(Debug)]
struct RunningCompletion {
    charge: Charge,
    since: Instant,
    task: AbortHandle,
}

/// A completion that a caller passes to the queue.
#[derive(Debug)]
pub struct QueuedCompletion {
    /// The chat and the tools.
    pub request: Box<CompletionRequest>,
    /// The moment from which its time counts. If another model was asked before, this is the moment
    /// of that.
    pub since: Instant,
    /// Receives the text while it is generated.
    pub deltas: Deltas,
    /// Cancelled when the completion is no longer wanted, also because it has ended.
    pub cancel: CancellationToken,
    /// The parent span of the completion: that of the turn.
    pub span: Span,
    /// Receives exactly one event, which ends the completion.
    pub reply: Reply<LlmEvent>,
}

impl ModelQueue {
    /// Makes a queue to which no actor attends yet.
    #[must_use]
    pub fn new(model: NamedModel, weights: UserWeights, limits: Arc<Limits>) -> Self {
        let state = QueueState {
            actor: None,
            waiting: Queue::new(limits.max_waiting_completions, weights),
            running: BTreeMap::new(),
            begun: 0,
            retries: RetryEstimator::default(),
        };
        let label = match &model.name {
            Some(name) => SharedString::from(name.to_string()),
            None => SharedString::from(model.model.info().name),
        };
        Self(Arc::new(Shared { model, label, limits, state: Mutex::new(state) }))
    }

    /// Returns the name of the model within its runtime.
    #[must_use]
    pub fn name(&self) -> Option<&ModelName> {
        self.0.model.name.as_ref()
    }

    /// Returns whether the model may ask for several calls in one completion.
    #[must_use]
    pub fn has_parallel_calls(&self) -> bool {
        self.0.model.model.info().has_parallel_calls
    }

    /// Completes a chat: begins at once if no completion waits and a slot is free, and otherwise
    /// lets the completion wait. Never blocks. While no actor attends to the queue, the caller
    /// receives that the answer was lost.
    pub fn complete(&self, queued: QueuedCompletion) {
        let Shared { label, limits, .. } = &*self.0;
        let QueuedCompletion { request, since, deltas, cancel, span, reply } = queued;
        let due = since + limits.completion_timeout;
        let first_due = due.min(since + limits.first_token_timeout);
        let span = CompletionSpan::begin(&span, label, &request);
        self.begin_or_enqueue(CompletionJob {
            request,
            deltas,
            cancel,
            first_due,
            due,
            span,
            reply,
        });
    }

    fn begin_or_enqueue(&self, job: CompletionJob) {
        let max = self.max_concurrent();
        let whose = job.whose();
        let prompt = prompt_cost(job.request.bytes());
        let mut state = self.state();
        if state.waiting.len() >= self.0.limits.max_waiting_completions {
            drop(state);
            self.take_out();
            state = self.state();
        }
        let Some(actor) = state.actor.clone() else {
            drop(state);
            return drop(job);
        };
        if state.waiting.len() == 0 {
            state.retries.has_room();
            let is_within_share = state.waiting.running_of(&whose.0) < self.max_of_user(max);
            if state.running.len() < max && is_within_share {
                let charge = state.waiting.begin(whose, prompt);
                return self.run(&mut state, job, charge);
            }
        }
        // A completion that waits has no first token.
        let due = job.first_due;
        match state.waiting.push(whose, prompt, due, job) {
            Ok(()) => {
                drop(state);
                look(&actor); // at the deadline, and whether a slot has come free since
            }
            Err(job) => {
                let running = state.running.len();
                let retry_after = state.retries.refuses(running);
                drop(state);
                job.end(Err(ModelError::Overloaded { retry_after }));
            }
        }
    }

    /// Counts the waiting completions.
    pub(super) fn waiting_len(&self) -> usize {
        self.state().waiting.len()
    }

    /// Lets this actor attend to the queue. Completions of an actor before it end.
    pub(super) fn open(&self, actor: &ActorRef<LlmMsg>) {
        self.state().actor = Some(actor.clone());
        self.clear();
    }

    /// Ends the completions of this actor, which is gone, and answers their callers.
    pub(super) fn close(&self, actor: &ActorRef<LlmMsg>) {
        let is_its = |by: &mut ActorRef<LlmMsg>| by.get_id() == actor.get_id();
        let closed = self.state().actor.take_if(is_its);
        if closed.is_some() {
            self.clear();
        }
    }

    fn clear(&self) {
        let mut state = self.state();
        let waiting = state.waiting.take_all();
        let running = std::mem::take(&mut state.running);
        for RunningCompletion { charge, .. } in running.values() {
            state.waiting.ended(charge, None);
        }
        // Not under the lock: the completions free their slots, and their callers are answered.
        drop(state);
        running.values().for_each(|running| running.task.abort());
        drop(waiting);
    }

    /// Ends completions that waited too long or are no longer wanted.
    pub(super) fn take_out(&self) {
        let is_unwanted = |job: &CompletionJob| job.cancel.is_cancelled();
        let out = self.state().waiting.take_out(Instant::now(), is_unwanted);
        for job in out {
            let error = if job.cancel.is_cancelled() {
                ModelError::Cancelled { usage: Default::default() }
            } else {
                ModelError::failed(ModelError::TIMEOUT)
            };
            job.end(Err(error));
        }
    }

    /// Begins the next waiting completions while slots are free, and returns the deadline of the
    /// one that waits longest.
    pub(super) fn call_up(&self) -> Option<Instant> {
        let max = self.max_concurrent();
        let mut state = self.state();
        while state.running.len() < max
            && let Some((job, charge)) = state.waiting.next(self.max_of_user(max))
        {
            self.run(&mut state, job, charge);
        }
        state.waiting.next_due()
    }

    /// Starts a completion, under the lock, so that it cannot free its slot before it has it.
    fn run(&self, state: &mut QueueState, job: CompletionJob, charge: Charge) {
        state.begun += 1;
        let slot = state.begun;
        let model_queue = self.clone();
        // Boxed, because a task's future is moved about ten times.
        let work = tokio::spawn(Box::pin(async move {
            // Dropped last, also when the model panics, so that the slot is free only after the
            // caller is answered. Made in here, because a runtime that shuts down drops the task in
            // `spawn`, under the lock that this would wait for.
            let mut freed =
                Freed { model_queue: &model_queue, slot, completion: job.request.id, spent: None };
            freed.spent = run(&*model_queue.0.model.model, job).await;
        }));
        let since = Instant::now();
        let task = work.abort_handle();
        state.running.insert(slot, RunningCompletion { charge, since, task });
    }

    fn max_concurrent(&self) -> usize {
        self.0.model.model.info().max_concurrent.max(1)
    }

    /// Returns how many of the model's slots one user's completions may take. A completion that
    /// runs is not taken back for another user, so some slots are kept for others.
    fn max_of_user(&self, max: usize) -> usize {
        let percent = self.0.limits.max_model_percent_per_user;
        (max / 100 * percent + (max % 100 * percent).div_ceil(100)).max(1)
    }

    /// Frees a slot, and returns the actor to inform if a completion waits for it.
    fn free(&self, slot: u64, spent: Option<Usage>) -> Option<ActorRef<LlmMsg>> {
        let mut state = self.state();
        if let Some(RunningCompletion { charge, since, .. }) = state.running.remove(&slot) {
            state.waiting.ended(&charge, spent);
            state.retries.ended(since.elapsed());
        }
        state.actor.clone().filter(|_| state.waiting.len() > 0)
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.0.state.lock().expect("no code under this lock panics")
    }
}

/// Frees a slot, however the completion ended.
struct Freed<'a> {
    model_queue: &'a ModelQueue,
    slot: u64,
    completion: CompletionId,
    spent: Option<Usage>,
}

impl Drop for Freed<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            error!(completion = %self.completion, "the model panicked");
        }
        if let Some(actor) = self.model_queue.free(self.slot, self.spent) {
            look(&actor);
        }
    }
}

fn look(actor: &ActorRef<LlmMsg>) {
    if actor.cast(LlmMsg::Freed).is_err() {
        debug!("the model's actor is gone");
    }
}
