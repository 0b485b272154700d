//! A model that follows a script, for whole turns in tests, demonstrations and benches.
//!
//! A script is a list of completions. Each has a text, calls or an error, and a delay
//! (`completion`). `script` reads them from JSON lines. The model plays the next completion for
//! each request, whichever session asks, unless a session has a script of its own. It streams texts
//! in a few pieces, and stops when it is cancelled.
//!
//! ```
//! # use madang_testing::ScriptedModel;
//! let model: ScriptedModel = r#"{"text":"Hello."}"#.parse()?;
//! # drop(model);
//! # Ok::<(), madang_testing::ScriptError>(())
//! ```
//!
//! Invariants:
//! - A request takes its completion on arrival, so a cancelled completion is not played again.
//! - After the last completion each request fails with [`ModelError::SCRIPT_EXHAUSTED`], unless the
//!   script repeats.
//! - A session with a script of its own takes nothing of another script.

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

/// A model that follows a script, one completion after the other, whichever session asks. After the
/// last one, each request fails with [`ModelError::SCRIPT_EXHAUSTED`].
///
/// A completion may ask for several tools, and any number of completions run at once. Clones share
/// the script.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    info: ModelInfo,
    scripts: Arc<Mutex<Scripts>>,
}

/// The next completions.
#[derive(Debug)]
struct Scripts {
    of_all: ScriptCursor,
    of_session: HashMap<SessionId, ScriptCursor>,
    /// The script of a session without one of its own. `None` if it takes the shared script.
    of_each: Option<ScriptCursor>,
}

/// A script and the position in it.
#[derive(Debug, Clone, Default)]
struct ScriptCursor {
    script: Arc<[ScriptedCompletion]>,
    next: usize,
    is_repeating: bool,
}

impl ScriptedModel {
    /// Plays one script for all sessions, once.
    #[must_use]
    pub fn new(script: impl IntoIterator<Item = ScriptedCompletion>) -> Self {
        Self::from_scripts(Scripts {
            of_all: ScriptCursor::once(script),
            of_session: HashMap::new(),
            of_each: None,
        })
    }

    /// Plays this script for each session again and again, as benches do.
    #[must_use]
    pub fn repeating(script: impl IntoIterator<Item = ScriptedCompletion>) -> Self {
        let each = ScriptCursor { is_repeating: true, ..ScriptCursor::once(script) };
        Self::from_scripts(Scripts {
            of_all: ScriptCursor::default(),
            of_session: HashMap::new(),
            of_each: Some(each),
        })
    }

    /// Plays a script for this session, once. Other sessions keep theirs.
    #[must_use]
    pub fn for_session(
        self,
        session: SessionId,
        script: impl IntoIterator<Item = ScriptedCompletion>,
    ) -> Self {
        self.scripts(|scripts| scripts.of_session.insert(session, ScriptCursor::once(script)));
        self
    }

    /// Sets how many completions run at once. Others wait.
    #[must_use]
    pub fn max_concurrent(mut self, count: usize) -> Self {
        self.info.max_concurrent = count;
        self
    }

    fn from_scripts(scripts: Scripts) -> Self {
        let info = ModelInfo {
            name: "script".into(),
            has_parallel_calls: true,
            max_concurrent: usize::MAX,
        };
        Self { info, scripts: Arc::new(Mutex::new(scripts)) }
    }

    fn scripts<T>(&self, change: impl FnOnce(&mut Scripts) -> T) -> T {
        change(&mut self.scripts.lock().unwrap_or_else(PoisonError::into_inner))
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
        let completion = self.scripts(|scripts| scripts.next(&request.session));
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

impl Scripts {
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

impl ScriptCursor {
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
