//! The desk before the model: who waits and what runs. Completions are wished for here, and begin here where nobody waits.

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
    LlmEvent, LlmMsg,
    job::{Job, run},
    pace::Pace,
    queue::{Charge, Queue, prompt_cost},
};
use crate::{
    mailbox::Reply,
    port::{ChatModel, Deltas, ModelError, Shares},
    protocol::{CompletionId, CompletionRequest, Limits, Usage},
    telemetry::CompletionSpan,
};

/// The desk before one model. Cheap to clone. It outlives the [`LlmActor`](super::LlmActor) that attends to it, and is open
/// while one does: where a place is free and nobody waits, a completion begins without that actor, which calls up those who
/// wait, and ends those who waited too long. A completion that ends gives its place back itself.
#[derive(Debug, Clone)]
pub struct Desk(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    model: Arc<dyn ChatModel>,
    /// The model's, as watchers see it.
    name: SharedString,
    limits: Arc<Limits>,
    seats: Mutex<Seats>,
}

#[derive(Debug)]
struct Seats {
    /// Who attends to it; `None` while nobody does.
    actor: Option<ActorRef<LlmMsg>>,
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

/// A wish for a completion.
#[derive(Debug)]
pub struct Wish {
    /// The chat and the tools.
    pub request: Box<CompletionRequest>,
    /// Where the text goes while it is generated.
    pub deltas: Deltas,
    /// Cancelled when nobody wants the completion any more, also because it has ended.
    pub cancel: CancellationToken,
    /// What the completion's span is a child of: that of the turn.
    pub span: Span,
    /// Exactly one event ends it.
    pub reply: Reply<LlmEvent>,
}

impl Desk {
    /// A desk that nobody attends to yet.
    #[must_use]
    pub fn new(model: Arc<dyn ChatModel>, shares: Shares, limits: Arc<Limits>) -> Self {
        let seats = Seats {
            actor: None,
            waiting: Queue::new(limits.max_waiting_completions, shares),
            running: BTreeMap::new(),
            begun: 0,
            pace: Pace::default(),
        };
        let name = SharedString::from(model.info().name);
        Self(Arc::new(Shared { model, name, limits, seats: Mutex::new(seats) }))
    }

    /// Completes a chat: begins with it where nobody waits and there is a place; otherwise it waits. Never waits itself.
    /// While nobody attends to the desk, the asker hears that the answer was lost.
    pub fn complete(&self, wish: Wish) {
        let Shared { name, limits, .. } = &*self.0;
        let Wish { request, deltas, cancel, span, reply } = wish;
        let now = Instant::now();
        let due = now + limits.completion_timeout;
        let first_due = due.min(now + limits.first_token_timeout);
        let span = CompletionSpan::begin(&span, name, &request);
        self.admit(Job { request, deltas, cancel, first_due, due, span, reply });
    }

    fn admit(&self, job: Job) {
        let (max, whose) = (self.max_concurrent(), job.whose());
        let prompt = prompt_cost(job.request.bytes());
        let mut seats = self.seats();
        if seats.waiting.len() >= self.0.limits.max_waiting_completions {
            drop(seats);
            self.take_out();
            seats = self.seats();
        }
        let Some(actor) = seats.actor.clone() else {
            drop(seats);
            return drop(job);
        };
        if seats.waiting.len() == 0 {
            seats.pace.has_room();
            if seats.running.len() < max {
                let charge = seats.waiting.begin(whose, prompt);
                return self.run(&mut seats, job, charge);
            }
        }
        // What waits has no first token.
        let due = job.first_due;
        match seats.waiting.push(whose, prompt, due, job) {
            Ok(()) => {
                drop(seats);
                look(&actor); // at the time, and whether a place has come free since
            }
            Err(job) => {
                let running = seats.running.len();
                let retry_after = seats.pace.refuses(running);
                drop(seats);
                job.end(Err(ModelError::Overloaded { retry_after }));
            }
        }
    }

    /// How many completions wait.
    pub(super) fn waiting_len(&self) -> usize {
        self.seats().waiting.len()
    }

    /// This actor attends to it from here on. What one before it has left ends.
    pub(super) fn open(&self, actor: &ActorRef<LlmMsg>) {
        self.seats().actor = Some(actor.clone());
        self.clear();
    }

    /// This actor is gone: what it attended to ends with it, and the askers hear of it.
    pub(super) fn close(&self, actor: &ActorRef<LlmMsg>) {
        let is_its = |by: &mut ActorRef<LlmMsg>| by.get_id() == actor.get_id();
        let closed = self.seats().actor.take_if(is_its);
        if closed.is_some() {
            self.clear();
        }
    }

    fn clear(&self) {
        let mut seats = self.seats();
        let (waiting, running) = (seats.waiting.take_all(), std::mem::take(&mut seats.running));
        for Running { charge, .. } in running.values() {
            seats.waiting.ended(charge, None);
        }
        // Not under the lock: they give their places back, and their askers hear of it.
        drop(seats);
        running.values().for_each(|running| running.task.abort());
        drop(waiting);
    }

    /// Ends what waited too long or is not wanted any more.
    pub(super) fn take_out(&self) {
        let is_unwanted = |job: &Job| job.cancel.is_cancelled();
        let out = self.seats().waiting.take_out(Instant::now(), is_unwanted);
        for job in out {
            let error = if job.cancel.is_cancelled() {
                ModelError::Cancelled { usage: Default::default() }
            } else {
                ModelError::failed(ModelError::TIMEOUT)
            };
            job.end(Err(error));
        }
    }

    /// Begins with those whose turn it is, and says when the one that waits longest is due.
    pub(super) fn call_up(&self) -> Option<Instant> {
        let max = self.max_concurrent();
        let mut seats = self.seats();
        while seats.running.len() < max
            && let Some((job, charge)) = seats.waiting.next()
        {
            self.run(&mut seats, job, charge);
        }
        seats.waiting.next_due()
    }

    /// Under the lock: the completion cannot give its place back before it has it.
    fn run(&self, seats: &mut Seats, job: Job, charge: Charge) {
        seats.begun += 1;
        let (place, desk) = (seats.begun, self.clone());
        // Boxed: a task's future is moved as a whole about ten times.
        let work = tokio::spawn(Box::pin(async move {
            // Dropped last, also when the model panics: the place is free only after the asker has heard. Made in here: a
            // runtime that is being shut down drops the task in `spawn`, under the lock that this would wait for.
            let mut freed = Freed { desk: &desk, place, completion: job.request.id, spent: None };
            freed.spent = run(&*desk.0.model, job).await;
        }));
        let (since, task) = (Instant::now(), work.abort_handle());
        seats.running.insert(place, Running { charge, since, task });
    }

    fn max_concurrent(&self) -> usize {
        self.0.model.info().max_concurrent.max(1)
    }

    /// Gives a place back, and says who is to be told because somebody waits for it.
    fn free(&self, place: u64, spent: Option<Usage>) -> Option<ActorRef<LlmMsg>> {
        let mut seats = self.seats();
        if let Some(Running { charge, since, .. }) = seats.running.remove(&place) {
            seats.waiting.ended(&charge, spent);
            seats.pace.ended(since.elapsed());
        }
        seats.actor.clone().filter(|_| seats.waiting.len() > 0)
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.seats.lock().expect("no code under this lock panics")
    }
}

/// Gives a place back, however the completion ended.
struct Freed<'a> {
    desk: &'a Desk,
    place: u64,
    completion: CompletionId,
    spent: Option<Usage>,
}

impl Drop for Freed<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            error!(completion = %self.completion, "the model panicked");
        }
        if let Some(actor) = self.desk.free(self.place, self.spent) {
            look(&actor);
        }
    }
}

fn look(actor: &ActorRef<LlmMsg>) {
    if actor.cast(LlmMsg::Freed).is_err() {
        debug!("the model's actor is gone");
    }
}
