//! The shell of the LlmActor: runs as many completions as the model serves at once, the rest wait in the queue.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use metrics::SharedString;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{task::AbortHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, debug};

use super::{
    LlmEvent, LlmMsg,
    pace::Pace,
    queue::{Charge, Queue},
};
use crate::{
    failpoint::failpoint,
    mailbox::{Alarm, Reply, answer},
    port::{ChatModel, Deltas, ModelError, Shares},
    protocol::{Completion, CompletionDelta, CompletionRequest, Limits, SessionId, Usage, UserId},
    telemetry::{CompletionClock, CompletionSpan},
};

/// Stands before one model.
#[derive(Debug)]
pub struct LlmActor;

/// What an [`LlmActor`] starts with.
#[derive(Debug, Clone)]
pub struct LlmArguments {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// How its time is shared out.
    pub shares: Shares,
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
    desk: Desk,
    alarm: Option<Alarm>,
}

/// Who waits and what runs. A completion that ends gives its place back here itself: the actor hears of it only where
/// somebody waits for the place.
#[derive(Debug, Clone)]
struct Desk(Arc<Mutex<Seats>>);

#[derive(Debug)]
struct Seats {
    waiting: Queue<Job>,
    running: BTreeMap<u64, Running>,
    /// Numbers the places.
    begun: u64,
    pace: Pace,
}

#[derive(Debug)]
struct Running {
    charge: Charge,
    since: Instant,
    task: AbortHandle,
}

#[derive(Debug)]
struct Job {
    request: Box<CompletionRequest>,
    deltas: Deltas,
    cancel: CancellationToken,
    /// When its first token must be there.
    first_due: Instant,
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
        let LlmArguments { model, shares, limits } = arguments;
        let seats = Seats {
            waiting: Queue::new(limits.max_waiting_completions, shares),
            running: BTreeMap::new(),
            begun: 0,
            pace: Pace::default(),
        };
        let name = SharedString::from(model.info().name);
        Ok(LlmState { model, name, limits, desk: Desk(Arc::new(Mutex::new(seats))), alarm: None })
    }

    async fn handle(
        &self,
        me: ActorRef<LlmMsg>,
        msg: LlmMsg,
        state: &mut LlmState,
    ) -> Result<(), ActorProcessingErr> {
        failpoint("llm.handle").await?;
        match msg {
            LlmMsg::Complete { request, deltas, cancel, span, reply } => {
                let now = Instant::now();
                let due = now + state.limits.completion_timeout;
                let first_due = due.min(now + state.limits.first_token_timeout);
                let span = CompletionSpan::begin(&span, &state.name, &request);
                state.admit(&me, Job { request, deltas, cancel, first_due, due, span, reply });
            }
            LlmMsg::QueueLength { reply } => answer(reply, state.desk.seats().waiting.len()),
            LlmMsg::Freed => {}
            LlmMsg::Due => {
                state.alarm = None;
                state.take_out();
            }
        }
        state.start(&me);
        Ok(())
    }
}

impl LlmState {
    /// Begins with it where nobody waits and there is a place; otherwise it waits.
    fn admit(&self, me: &ActorRef<LlmMsg>, job: Job) {
        let (max, whose) = (self.max_concurrent(), job.whose());
        let mut seats = self.desk.seats();
        if seats.waiting.len() == 0 {
            seats.pace.has_room();
            if seats.running.len() < max {
                let charge = seats.waiting.begin(whose);
                return self.run(&mut seats, me, job, charge);
            }
        }
        if seats.waiting.len() >= self.limits.max_waiting_completions {
            drop(seats);
            self.take_out();
            seats = self.desk.seats();
        }
        // What waits has no first token.
        let due = job.first_due;
        if let Err(job) = seats.waiting.push(whose, due, job) {
            let running = seats.running.len();
            let retry_after = seats.pace.refuses(running);
            drop(seats);
            job.end(Err(ModelError::Overloaded { retry_after }));
        }
    }

    /// Ends what waited too long or is not wanted any more.
    fn take_out(&self) {
        let is_unwanted = |job: &Job| job.cancel.is_cancelled();
        let out = self.desk.seats().waiting.take_out(Instant::now(), is_unwanted);
        for job in out {
            let error = if job.cancel.is_cancelled() {
                ModelError::Cancelled { usage: Default::default() }
            } else {
                ModelError::failed(ModelError::TIMEOUT)
            };
            job.end(Err(error));
        }
    }

    /// Begins with those whose turn it is, and keeps one timer for the one that waits longest.
    fn start(&mut self, me: &ActorRef<LlmMsg>) {
        let max = self.max_concurrent();
        let mut seats = self.desk.seats();
        while seats.running.len() < max
            && let Some((job, charge)) = seats.waiting.next()
        {
            self.run(&mut seats, me, job, charge);
        }
        let due = seats.waiting.next_due();
        drop(seats);
        Alarm::keep(&mut self.alarm, due, me, || LlmMsg::Due);
    }

    /// Under the lock of the desk: the completion cannot give its place back before it has it.
    fn run(&self, seats: &mut Seats, me: &ActorRef<LlmMsg>, job: Job, charge: Charge) {
        seats.begun += 1;
        let place = seats.begun;
        let (desk, actor, model) = (self.desk.clone(), me.clone(), self.model.clone());
        // Boxed: a task's future is moved as a whole about ten times.
        let work = tokio::spawn(Box::pin(async move {
            // Dropped last, also when the model panics: the place is free only after the asker has heard. Made in here: a
            // runtime that is being shut down drops the task in `spawn`, under the lock that this would wait for.
            let mut freed = Freed { desk, actor, place, spent: None };
            freed.spent = run(&*model, job).await;
        }));
        let (since, task) = (Instant::now(), work.abort_handle());
        seats.running.insert(place, Running { charge, since, task });
    }

    fn max_concurrent(&self) -> usize {
        self.model.info().max_concurrent.max(1)
    }
}

impl Drop for LlmState {
    fn drop(&mut self) {
        let mut seats = self.desk.seats();
        let (waiting, running) = (seats.waiting.take_all(), std::mem::take(&mut seats.running));
        // Not under the lock: they give their places back, and their askers hear of it.
        drop(seats);
        running.values().for_each(|running| running.task.abort());
        drop(waiting);
    }
}

impl Desk {
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.lock().expect("no code under this lock panics")
    }

    /// Says whether somebody waits for the place.
    fn free(&self, place: u64, spent: Option<Usage>) -> bool {
        let mut seats = self.seats();
        if let Some(Running { charge, since, .. }) = seats.running.remove(&place) {
            seats.waiting.ended(&charge, spent);
            seats.pace.ended(since.elapsed());
        }
        seats.waiting.len() > 0
    }
}

/// Lets the model complete, and says what was spent, if it is known.
async fn run(model: &dyn ChatModel, job: Job) -> Option<Usage> {
    let Job { request, deltas, cancel, first_due, due, span, reply } = job;
    let completion = request.id;
    let result = if cancel.is_cancelled() {
        Err(ModelError::Cancelled { usage: Default::default() })
    } else {
        span.runs();
        let clock = span.clock();
        let deltas = telling(deltas, clock.clone());
        let work = model.complete(*request, deltas, cancel.clone());
        let work = work.instrument(span.span().clone());
        // Dropping the model's future cancels it; the token also reaches what it handed to another thread.
        tokio::select! {
            biased;
            result = tokio::time::timeout_at(due, work) => {
                result.unwrap_or_else(|_| Err(ModelError::failed(ModelError::TIMEOUT)))
            }
            () = is_late(first_due, &clock) => Err(ModelError::failed(ModelError::TIMEOUT)),
        }
    };
    cancel.cancel();
    debug!(%completion, is_ok = result.is_ok(), "completion ended");
    let spent = match &result {
        Ok(Completion { usage, .. }) | Err(ModelError::Cancelled { usage }) => Some(*usage),
        Err(ModelError::Failed { .. } | ModelError::Overloaded { .. }) => None,
    };
    span.ended(&result);
    reply.send(LlmEvent::Ended { completion, result });
    spent
}

/// The same deltas; the first of them is noted.
fn telling(deltas: Deltas, clock: CompletionClock) -> Deltas {
    Deltas::new(move |delta: CompletionDelta<'_>| {
        clock.ticks();
        deltas.push(delta);
    })
}

/// Ends at this moment, if there is no first token by then; otherwise never.
async fn is_late(first_due: Instant, clock: &CompletionClock) {
    tokio::time::sleep_until(first_due).await;
    if clock.has_first_token() {
        std::future::pending().await
    }
}

impl Job {
    fn whose(&self) -> (UserId, SessionId) {
        (self.request.user.clone(), self.request.session.clone())
    }

    fn end(self, result: Result<Completion, ModelError>) {
        let Self { request, span, reply, .. } = self;
        span.ended(&result);
        reply.send(LlmEvent::Ended { completion: request.id, result });
    }
}

/// Gives a place back, however the completion ended.
struct Freed {
    desk: Desk,
    actor: ActorRef<LlmMsg>,
    place: u64,
    spent: Option<Usage>,
}

impl Drop for Freed {
    fn drop(&mut self) {
        let is_awaited = self.desk.free(self.place, self.spent);
        if is_awaited && self.actor.cast(LlmMsg::Freed).is_err() {
            debug!("the model's actor is gone");
        }
    }
}
