//! A model that says what a script says, in its order: for whole turns in tests, demonstrations and benches.

mod completion;
mod script;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio_util::sync::CancellationToken;

use madang_actors::{
    port::{BoxFuture, ChatModel, Deltas, ModelError, ModelInfo},
    protocol::{Completion, CompletionRequest, SessionId, Usage},
};

pub use completion::ScriptedCompletion;
pub use script::ScriptError;

/// A model that says what a script says: one completion after the other, whichever session asks. Where the script has run out it
/// fails with [`ModelError::SCRIPT_EXHAUSTED`].
///
/// Its completions may ask for several tools at once, and any number of them run beside each other. Clones share the
/// script.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    info: ModelInfo,
    parts: Arc<Mutex<Parts>>,
}

/// What is said next.
#[derive(Debug)]
struct Parts {
    of_all: Part,
    of_session: HashMap<SessionId, Part>,
    /// What a session gets that has no part of its own: where it is `None`, the part of all.
    of_each: Option<Part>,
}

/// A script and how far it was said.
#[derive(Debug, Clone, Default)]
struct Part {
    script: Arc<[ScriptedCompletion]>,
    next: usize,
    is_repeating: bool,
}

impl ScriptedModel {
    /// One script for all sessions, said once.
    #[must_use]
    pub fn new(script: impl IntoIterator<Item = ScriptedCompletion>) -> Self {
        Self::from_parts(Parts {
            of_all: Part::once(script),
            of_session: HashMap::new(),
            of_each: None,
        })
    }

    /// Each session hears this script from its beginning, again and again: for benches.
    #[must_use]
    pub fn repeating(script: impl IntoIterator<Item = ScriptedCompletion>) -> Self {
        let each = Part { is_repeating: true, ..Part::once(script) };
        Self::from_parts(Parts {
            of_all: Part::default(),
            of_session: HashMap::new(),
            of_each: Some(each),
        })
    }

    /// This session hears a script of its own, once; the others are not changed by it.
    #[must_use]
    pub fn for_session(
        self,
        session: SessionId,
        script: impl IntoIterator<Item = ScriptedCompletion>,
    ) -> Self {
        self.parts(|parts| parts.of_session.insert(session, Part::once(script)));
        self
    }

    /// It serves this many completions at once; the rest wait.
    #[must_use]
    pub fn max_concurrent(mut self, count: usize) -> Self {
        self.info.max_concurrent = count;
        self
    }

    fn from_parts(parts: Parts) -> Self {
        let info = ModelInfo {
            name: "script".into(),
            has_parallel_calls: true,
            max_concurrent: usize::MAX,
        };
        Self { info, parts: Arc::new(Mutex::new(parts)) }
    }

    fn parts<T>(&self, change: impl FnOnce(&mut Parts) -> T) -> T {
        change(&mut self.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChatModel for ScriptedModel {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        let completion = self.parts(|parts| parts.next(&request.session));
        Box::pin(async move {
            let completion =
                completion.ok_or_else(|| ModelError::failed(ModelError::SCRIPT_EXHAUSTED))?;
            let say = completion.say(&deltas);
            cancel
                .run_until_cancelled(say)
                .await
                .unwrap_or(Err(ModelError::Cancelled { usage: Usage::default() }))
        })
    }
}

impl Parts {
    fn next(&mut self, session: &SessionId) -> Option<ScriptedCompletion> {
        if let Some(part) = self.of_session.get_mut(session) {
            return part.next();
        }
        match &self.of_each {
            Some(each) => self.of_session.entry(session.clone()).or_insert(each.clone()).next(),
            None => self.of_all.next(),
        }
    }
}

impl Part {
    fn once(script: impl IntoIterator<Item = ScriptedCompletion>) -> Self {
        Self { script: script.into_iter().collect(), next: 0, is_repeating: false }
    }

    fn next(&mut self) -> Option<ScriptedCompletion> {
        if self.is_repeating && self.next == self.script.len() {
            self.next = 0;
        }
        let completion = self.script.get(self.next)?.clone();
        self.next += 1;
        Some(completion)
    }
}
