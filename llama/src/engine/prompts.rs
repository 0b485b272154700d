//! Writes prompts next to the thread that decodes. Rendering and tokenizing take as long as the
//! text is, and only the text's own user waits.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use madang_actors::{
    port::ModelError,
    protocol::{CompletionRequest, Usage},
};
use tokio_util::sync::CancellationToken;

use super::{
    fair::Fair,
    generator::{Generator, Prompt},
    request::EngineRequest,
};

/// How many prompts are written at once. While one user's takes long, another's is written. More
/// would take time from the threads that decode.
pub(super) const WRITERS: usize = 2;

/// The requested completions that have not begun.
#[derive(Debug)]
pub(crate) struct Asked {
    state: Mutex<State>,
    changed: Condvar,
    /// The number of waiting ones, with those whose prompts are being written.
    waiting: AtomicUsize,
    max_waiting: usize,
}

#[derive(Debug, Default)]
struct State {
    fair: Fair<EngineRequest>,
    is_closed: bool,
}

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Too many requests wait.
    Full,
    /// The engine is closed.
    Closed,
}

/// A completion whose prompt was written, or could not be.
pub(super) struct Written {
    pub(super) job: EngineRequest,
    pub(super) prompt: Result<Prompt, ModelError>,
}

impl Asked {
    pub(crate) fn new(max_waiting: usize) -> Self {
        let state = Mutex::default();
        Self { state, changed: Condvar::new(), waiting: AtomicUsize::new(0), max_waiting }
    }

    /// Adds a request. Returns why it is refused, if the queue is full or closed.
    pub(crate) fn push(&self, job: EngineRequest) -> Result<(), Refused> {
        let mut state = self.state();
        if state.is_closed {
            return Err(Refused::Closed);
        }
        if self.waiting.load(Ordering::Acquire) >= self.max_waiting {
            return Err(Refused::Full);
        }
        self.waiting.fetch_add(1, Ordering::AcqRel);
        state.fair.push(job.request.user.clone(), job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Notes that a waiting completion has begun.
    pub(super) fn began(&self) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }

    /// Stops writing, and drops the requests that wait. Their callers learn that no answer comes.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let waiting = state.fair.take_all();
        drop(state);
        self.changed.notify_all();
        drop(waiting);
    }

    /// Writes prompts until the requests are closed, or no one receives them.
    pub(super) fn write(&self, generator: &Generator<'_>, written: &mpsc::Sender<Written>) {
        self.write_by(|job| prompt(generator, &job.request, &job.cancel), written);
    }

    fn write_by(
        &self,
        prompt: impl Fn(&EngineRequest) -> Result<Prompt, ModelError>,
        written: &mpsc::Sender<Written>,
    ) {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return;
            }
            let Some((user, job)) = state.fair.next() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let bytes = job.request.bytes();
            let prompt = prompt(&job);
            let is_wanted = written.send(Written { job, prompt }).is_ok();
            state = self.state();
            state.fair.charge(&user, bytes);
            // Another writer may take the next request of this user.
            self.changed.notify_one();
            if !is_wanted {
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the requests when the engine's thread ends in any way.
pub(super) struct CloseWhenDropped(pub(super) Arc<Asked>);

impl Drop for CloseWhenDropped {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Writes the prompt of a request, unless it was cancelled.
pub(super) fn prompt(
    generator: &Generator<'_>,
    request: &CompletionRequest,
    cancel: &[CancellationToken],
) -> Result<Prompt, ModelError> {
    let is_unwanted = || cancel.iter().any(CancellationToken::is_cancelled);
    if is_unwanted() {
        return Err(ModelError::Cancelled { usage: Usage::default() });
    }
    // A panic of a template ends one completion, not the model.
    let prompt = AssertUnwindSafe(|| generator.prompt(request, &is_unwanted));
    std::panic::catch_unwind(prompt).unwrap_or_else(|_| Err(ModelError::failed(PANIC)))
}

/// The kind of error of a template or a grammar that panicked.
pub(super) const PANIC: &str = "Panic";

#[cfg(test)]
mod tests {
    use std::thread;

    use madang_actors::{
        port::Deltas,
        protocol::{CompletionId, LanguageTag, PromptMessage, SessionId, UserId},
    };
    use tokio::sync::oneshot;
    use uuid::Uuid;

    use super::*;

    fn job(number: u128, user: &str, bytes: usize) -> EngineRequest {
        let text = "x".repeat(bytes);
        let request = CompletionRequest {
            id: CompletionId::new(Uuid::from_u128(number)),
            session: SessionId::new("s").unwrap(),
            user: UserId::new(user).unwrap(),
            system: None,
            instructions: None,
            messages: Arc::new(vec![PromptMessage::User { text: text.into() }]),
            tools: Arc::default(),
            language: LanguageTag::EN,
            max_tokens: 1,
        };
        let (reply, _) = oneshot::channel();
        let deltas = Deltas::ignored();
        let cancel = Default::default();
        EngineRequest { request, deltas, cancel, has_begun: Arc::default(), reply }
    }

    #[test]
    fn what_a_prompt_takes_to_write_is_charged_to_its_user_by_its_length() {
        let asked = Asked::new(8);
        let wanted =
            [(1, "kim", 1_000), (2, "kim", 1), (3, "lee", 1), (4, "lee", 1), (5, "lee", 1)];
        for (number, user, bytes) in wanted {
            asked.push(job(number, user, bytes)).unwrap();
        }
        let (written, order) = mpsc::channel();
        let unwritten = |_: &EngineRequest| Err(ModelError::failed("unwritten"));
        let order: Vec<_> = thread::scope(|scope| {
            scope.spawn(|| asked.write_by(unwritten, &written));
            let next = || order.recv().unwrap().job.request.id;
            let order = wanted.map(|_| next()).to_vec();
            asked.close();
            order
        });
        let expected = [1, 3, 4, 5, 2].map(|number| CompletionId::new(Uuid::from_u128(number)));
        assert_eq!(order, expected, "lee had less written than kim");
    }
}
