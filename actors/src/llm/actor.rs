//! The shell of the LlmActor: runs as many completions as the model serves at once, the rest wait in the queue.

use std::{collections::HashMap, sync::Arc};

use metrics::SharedString;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{task::JoinSet, time::Instant};
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
    protocol::{Completion, CompletionDelta, CompletionRequest, Limits, Usage},
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
    waiting: Queue<Job>,
    /// Whose completions run, by place, and since when.
    places: HashMap<u64, (Charge, Instant)>,
    /// Numbers the places.
    begun: u64,
    pace: Pace,
    running: JoinSet<()>,
    alarm: Option<Alarm>,
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
        let waiting = Queue::new(limits.max_waiting_completions, shares);
        let name = SharedString::from(model.info().name);
        let running = JoinSet::new();
        Ok(LlmState {
            model,
            name,
            limits,
            waiting,
            places: HashMap::new(),
            begun: 0,
            pace: Pace::default(),
            running,
            alarm: None,
        })
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
                let now = Instant::now();
                let due = now + state.limits.completion_timeout;
                let first_due = due.min(now + state.limits.first_token_timeout);
                let span = CompletionSpan::begin(&span, &state.name, &request);
                state.admit(Job { request, deltas, cancel, first_due, due, span, reply });
            }
            LlmMsg::QueueLength { reply } => answer(reply, state.waiting.len()),
            LlmMsg::Freed { place, spent } => {
                failpoint("llm.freed").await?;
                state.free(place, spent);
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
        if self.waiting.len() == 0 {
            self.pace.has_room();
        }
        let of = (job.request.user.clone(), job.request.session.clone());
        // What waits has no first token.
        if let Err(job) = self.waiting.push(of, job.first_due, job) {
            let retry_after = self.pace.refuses(self.places.len());
            job.end(Err(ModelError::Overloaded { retry_after }));
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
        while self.places.len() < self.model.info().max_concurrent.max(1) {
            let Some((job, charge)) = self.waiting.next() else { return };
            self.begun += 1;
            self.places.insert(self.begun, (charge, Instant::now()));
            let model = self.model.clone();
            let freed = Freed { actor: me.clone(), place: self.begun, spent: None };
            self.running.spawn(async move {
                // Dropped last, also when the model panics: the place is free only after the asker has heard.
                let mut freed = freed;
                freed.spent = run(&*model, job).await;
            });
        }
    }

    fn free(&mut self, place: u64, spent: Option<Usage>) {
        let Some((charge, since)) = self.places.remove(&place) else { return };
        self.waiting.ended(&charge, spent);
        self.pace.ended(since.elapsed());
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

/// Lets the model complete, and says what was spent, if it is known.
async fn run(model: &dyn ChatModel, job: Job) -> Option<Usage> {
    let Job { request, deltas, cancel, first_due, due, span, reply } = job;
    let completion = request.id;
    let mine = cancel.child_token();
    let result = if cancel.is_cancelled() {
        Err(ModelError::Cancelled { usage: Default::default() })
    } else {
        span.runs();
        let has_first = CancellationToken::new();
        let deltas = telling(deltas, has_first.clone(), span.clock());
        let work = model.complete(*request, deltas, mine.clone());
        let work = work.instrument(span.span().clone());
        // Dropping the model's future cancels it; `mine` also reaches what it handed to another thread.
        tokio::select! {
            biased;
            result = tokio::time::timeout_at(due, work) => {
                result.unwrap_or_else(|_| Err(ModelError::failed(ModelError::TIMEOUT)))
            }
            () = is_late(first_due, has_first) => Err(ModelError::failed(ModelError::TIMEOUT)),
        }
    };
    mine.cancel();
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
fn telling(deltas: Deltas, has_first: CancellationToken, clock: CompletionClock) -> Deltas {
    Deltas::new(move |delta: CompletionDelta<'_>| {
        if !has_first.is_cancelled() {
            has_first.cancel();
            clock.first_token();
        }
        deltas.push(delta);
    })
}

/// Ends at this moment, if there is no first token by then; otherwise never.
async fn is_late(first_due: Instant, has_first: CancellationToken) {
    tokio::select! {
        biased;
        () = has_first.cancelled() => std::future::pending().await,
        () = tokio::time::sleep_until(first_due) => (),
    }
}

impl Job {
    fn end(self, result: Result<Completion, ModelError>) {
        let Self { request, span, reply, .. } = self;
        span.ended(&result);
        reply.send(LlmEvent::Ended { completion: request.id, result });
    }
}

/// Tells the actor that a place is free, however the completion ended.
struct Freed {
    actor: ActorRef<LlmMsg>,
    place: u64,
    spent: Option<Usage>,
}

impl Drop for Freed {
    fn drop(&mut self) {
        let freed = LlmMsg::Freed { place: self.place, spent: self.spent };
        if self.actor.cast(freed).is_err() {
            debug!("the model's actor is gone");
        }
    }
}
