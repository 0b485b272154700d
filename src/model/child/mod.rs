//! Runs a model in a process of its own, so that a crash of the model does not end the program.
//!
//! The program starts a child, usually itself with other arguments. Both exchange frames of JSON
//! over the child's standard input and output. In the program, [`ChildModel`] is the model. In the
//! child, [`serve`] lets any [`ChatModel`] answer.
//!
//! ```no_run
//! use madang::model::child::{ChildModel, ChildOptions};
//!
//! let model = ChildModel::load(ChildOptions::of_this_program()?.argument("serve-model"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A request goes from the handle (`command`) to the thread of `supervisor`, which writes it to the
//! child (`process`). There `serve` completes it, and its deltas return the same way. The decisions
//! are pure: `supervision`, with `open` (requests), `blame` (requests that ended children),
//! `restarts` and `watch` (hangs). `frame`, `wire` and `log` define the bytes in the pipes.
//!
//! Invariants:
//! - A request that streamed no output is asked again at most once. Any other fails when its child
//!   dies.
//! - A request that ran when two children ended is refused from then on.
//! - A child ends with its program, and no zombie remains.
//! - A child receives only the variables that `environment` selects, and can gain no rights.

mod blame;
mod command;
mod environment;
mod error;
mod frame;
mod log;
mod open;
mod options;
mod own_pipes;
mod process;
mod restarts;
mod serve;
mod stats;
mod supervision;
mod supervisor;
mod watch;
mod wire;

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc as blocking,
    },
    thread::JoinHandle,
};

use madang_actors::{
    port::{BoxFuture, Caveat, ChatModel, Deltas, ModelError, ModelInfo, Unconstrained},
    protocol::{Completion, CompletionRequest, ToolSpec},
};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

pub use error::{ChildDeath, ChildError};
pub use options::ChildOptions;
pub use own_pipes::own_pipes;
pub use serve::{Served, serve};
pub use stats::ChildStats;
pub use wire::{ErrorReport, ModelReport};

use command::{Command, Responder, Seen};
use error::ASK_WITHIN;
use wire::Loaded;

/// A model that runs in another process.
///
/// When the process ends or hangs, another one starts. Completions that streamed no output are
/// asked again, once and one at a time, so that a second death shows which request caused it. The
/// others fail with [`ModelError::ENGINE_DIED`]. A request that ran when two processes ended is
/// refused with [`ChildModel::KILLED_ENGINE`], even if it is sent again.
///
/// An OS thread owns the process. Dropping the model blocks the calling thread until the process
/// has ended, and kills it after [`ChildOptions::end_within`]. If this program ends without
/// dropping the model, the child reads the end of its input and ends. On Linux the kernel ends it
/// too, even if it hangs.
#[derive(Debug)]
pub struct ChildModel {
    info: ModelInfo,
    caveats: Vec<Caveat>,
    commands: Option<mpsc::UnboundedSender<Command>>,
    /// Holds a permit for each open completion; the queue of commands has room for two of each.
    permits: Arc<Semaphore>,
    /// The number of requests so far.
    asked: AtomicU64,
    thread: Option<JoinHandle<()>>,
    seen: Arc<Mutex<Seen>>,
}

impl ChildModel {
    /// The kind of error of a request that ran when two processes ended.
    pub const KILLED_ENGINE: &'static str = ModelError::KILLED_ENGINE;
    /// The kind of error of a request that is too large for a frame, some 64 MiB.
    pub const PROMPT_TOO_LONG: &'static str = ModelError::PROMPT_TOO_LONG;

    /// Starts the process and blocks the thread until it has loaded its model.
    ///
    /// # Errors
    /// [`ChildError`] if the process cannot start, reports why it cannot load the model, or ends
    /// before that. There is no second attempt.
    pub fn load(options: ChildOptions) -> Result<Self, ChildError> {
        let permits = Arc::new(Semaphore::new(options.max_waiting));
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let (commands, received) = mpsc::unbounded_channel();
        let (Loaded { info, caveats }, thread) =
            supervisor::start(options, received, Arc::clone(&seen))?;
        let asked = AtomicU64::new(0);
        Ok(Self {
            info,
            caveats,
            commands: Some(commands),
            permits,
            asked,
            thread: Some(thread),
            seen,
        })
    }

    /// Returns what has happened to the processes so far.
    #[must_use]
    pub fn stats(&self) -> ChildStats {
        self.seen().stats
    }

    /// Returns the latest figures of the model's process, as [`Served`] reports them; null before
    /// the first report.
    #[must_use]
    pub fn figures(&self) -> Value {
        self.seen().figures.clone()
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, command: Command) -> Result<(), ModelError> {
        let sent = self.commands.as_ref().is_some_and(|commands| commands.send(command).is_ok());
        if sent { Ok(()) } else { Err(ModelError::failed(ModelError::ENGINE_DIED)) }
    }

    async fn complete_in_child(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> Result<Completion, ModelError> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| ModelError::Overloaded { retry_after: None })?;
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let (reply, mut answer) = oneshot::channel();
        self.send(Command::Complete {
            id,
            request,
            responder: Responder { deltas, reply, _permit: permit },
        })?;
        let mut open = WithdrawnWhenDropped { model: self, id: Some(id) };
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered,
            () = cancel.cancelled() => {
                self.send(Command::Withdraw { id })?;
                answer.await
            }
        };
        open.id = None;
        answered.unwrap_or_else(|_| Err(ModelError::failed(ModelError::ENGINE_DIED)))
    }
}

/// Cancels a completion when its future is dropped.
struct WithdrawnWhenDropped<'m> {
    model: &'m ChildModel,
    id: Option<u64>,
}

impl Drop for WithdrawnWhenDropped<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id
            && let Err(error) = self.model.send(Command::Withdraw { id })
        {
            tracing::debug!(%error, "a completion ended with its model");
        }
    }
}

impl ChatModel for ChildModel {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(self.complete_in_child(request, deltas, cancel))
    }

    /// Asks the process, and blocks the thread for some milliseconds until it answers.
    fn unconstrained(&self, tools: &[ToolSpec]) -> Vec<Unconstrained> {
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = blocking::sync_channel(1);
        let asked = self.send(Command::Unconstrained { id, tools: tools.into(), reply });
        let answered = asked.is_ok().then(|| answer.recv_timeout(ASK_WITHIN).ok()).flatten();
        answered.unwrap_or_else(|| {
            tracing::warn!("the model's process did not say what its calls may break");
            Vec::new()
        })
    }

    fn caveats(&self) -> Vec<Caveat> {
        self.caveats.clone()
    }
}

impl Drop for ChildModel {
    fn drop(&mut self) {
        self.commands.take();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the model's process had panicked");
        }
    }
}
