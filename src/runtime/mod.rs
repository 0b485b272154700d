//! The runtime: its actors, its sessions, and its start and shutdown.

pub(crate) mod block_on;
pub(crate) mod builder;
mod interrupted;
pub(crate) mod model_choice;
mod resume;
pub(crate) mod shared;
mod temporary;
pub(crate) mod time_zone;

use std::sync::{Arc, atomic::Ordering::Relaxed};

use madang_actors::{
    call::DirectCalls,
    port::{LedgerFilter, LedgerRow, Occupancy, StoreError},
    protocol::{Languages, ModelName, ToolSpec},
    registry::ToolRegistry,
    session::{RuntimeContext, SessionRegistry},
    supervisor::{Health, RuntimeConfig, Supervisor},
};
use tokio::time::{Instant, timeout_at};
use tracing::error;

use crate::error::{BuildError, ShutdownError};
use interrupted::Interrupted;
use model_choice::ModelChoice;
use shared::SharedRuntime;
use time_zone::TimeZones;

/// Many concurrent chats that share one or more models, one store and one set of tools. It is cheap
/// to clone.
///
/// Dropping every clone does not stop running turns and calls. [`Runtime::shutdown`] does.
///
/// ```
/// # use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
/// use madang::Runtime;
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = ScriptedModel::repeating([ScriptedCompletion::text("Hello!")]);
/// # let store = MemoryStore::new();
///
/// let runtime = Runtime::builder().model(model).store(store).start().await?;
/// let kim = runtime.user("kim")?.session("chat-1").await?;
/// let lee = runtime.user("lee")?.session("chat-2").await?;
///
/// // Both turns run at once.
/// let (to_kim, to_lee) = tokio::try_join!(kim.send("Hi"), lee.send("Hi"))?;
/// assert_eq!(to_kim.text().await?, "Hello!");
/// assert_eq!(to_lee.text().await?, "Hello!");
///
/// // Handlers that have begun finish and commit. The store is closed last.
/// runtime.shutdown().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Runtime {
    shared: Arc<SharedRuntime>,
}

impl Runtime {
    /// Returns the languages of this runtime, which choose a language by a tag or by a text.
    #[must_use]
    pub fn languages(&self) -> &Languages {
        self.shared.languages()
    }

    /// Starts the actors of this configuration, and a runtime whose turns have these settings.
    pub(crate) async fn start(
        config: RuntimeConfig,
        system: Option<Arc<str>>,
        has_temporary_chats: bool,
        model_choice: ModelChoice,
        time_zones: TimeZones,
    ) -> Result<Self, BuildError> {
        let occupied = match config.store.occupancy().map(Occupancy::occupy) {
            Some(None) => return Err(BuildError::StoreInUse),
            Some(Some(occupied)) => Some(Arc::new(occupied)),
            None => None,
        };
        let started = Supervisor::start(RuntimeConfig { occupied, ..config }).await?;
        // What a crash left. A turn that is open there ends, for its chat is gone.
        temporary::erase(started.handles()).await.map_err(BuildError::Store)?;
        let found = Interrupted::find(started.handles()).await;
        let (interrupted, abandoned) = found.map_err(BuildError::Store)?;
        let handles = started.claim();
        let specs: Vec<ToolSpec> =
            handles.calls.registry.iter().map(|tool| tool.spec().clone()).collect();
        let context = RuntimeContext::start(|lost| RuntimeContext {
            lost,
            has_temporary_chats,
            store: handles.store.clone(),
            models: handles.models.clone(),
            dispatcher: handles.dispatcher.clone(),
            calls: handles.calls.clone(),
            specs: specs.into(),
            system,
            supervisor: handles.supervisor.clone(),
            tasks: handles.calls.tasks.clone(),
            closing: handles.calls.closing.clone(),
            closed: Arc::default(),
        });
        let sessions = SessionRegistry::default();
        let shared = SharedRuntime {
            handles,
            direct_calls: DirectCalls::new(context.clone(), sessions.clone()),
            context,
            sessions,
            model_choice,
            time_zones,
            interrupted,
        };
        abandoned.end_later(&shared.sessions, shared.tasks());
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the tools of this runtime.
    #[must_use]
    pub fn registry(&self) -> &ToolRegistry {
        &self.shared.handles.calls.registry
    }

    /// Returns whether there is a model, so that turns begin.
    #[must_use]
    pub fn has_model(&self) -> bool {
        !self.shared.handles.models.is_empty()
    }

    /// Returns the names of the models, in the order in which they replace each other. A turn can
    /// choose each of them. The iterator is empty if there is no model, or the only model has no
    /// name.
    pub fn models(&self) -> impl Iterator<Item = &ModelName> {
        self.shared.handles.models.names()
    }

    /// Reads the tool calls of all users that match the filter, in the order in which they were
    /// proposed. A filter without a limit returns all of them.
    /// [`User::ledger`](crate::User::ledger) reads those of one user.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read. [`StoreError::Refused`] if the filter begins
    /// [after a call](LedgerFilter::after) that its user or session does not have.
    pub async fn ledger(&self, filter: &LedgerFilter) -> Result<Vec<LedgerRow>, StoreError> {
        self.shared.store().calls(filter).await
    }

    /// Returns whether the runtime can serve, and otherwise which of its actors cannot. After
    /// shutdown it cannot. The store is also unhealthy while a handler holds its transaction and
    /// blocks a thread.
    #[must_use]
    pub fn health(&self) -> Health {
        let shared = &self.shared;
        if shared.handles.writer_health.overdue_leases() > 0 {
            return Health::Unhealthy { actor: "store", model: None };
        }
        if shared.handles.health.has_changed().is_err() {
            return Health::Unhealthy { actor: "supervisor", model: None };
        }
        shared.handles.health.borrow().clone()
    }

    /// Returns the number of sessions in memory: those that are awake, and sleeping ones that have
    /// a handle or a subscriber.
    #[must_use]
    pub fn sessions_in_memory(&self) -> usize {
        self.shared.sessions.count()
    }

    /// Returns the number of sessions that the end of an earlier process cut off during a turn and
    /// that have not woken yet. Opening one, or [`resume_open`](Self::resume_open), wakes it.
    #[must_use]
    pub fn interrupted_sessions(&self) -> usize {
        self.shared.interrupted.count()
    }

    /// Shuts down gracefully: no new turns begin, models stop, handlers that have begun finish and
    /// commit, and the store is closed last. This takes at most `Limits::shutdown_timeout`. Until
    /// it is done, chats can be read, turns dismissed and effects resolved.
    ///
    /// Running turns stay open in the store together with their questions, and continue after the
    /// next start. Turns of a [temporary chat](crate::Builder::temporary_chats) that are still open
    /// end with the next start.
    ///
    /// # Errors
    /// [`ShutdownError`] if handlers or writes were still running at the end of that time. They
    /// continue, and shutdown can be tried again.
    pub async fn shutdown(&self) -> Result<(), ShutdownError> {
        let shared = &self.shared;
        shared.context.closing.cancel();
        let patience = shared.limits().shutdown_timeout;
        let until = Instant::now() + patience;
        let ended = timeout_at(until, async {
            shared.sessions.close().await;
            shared.tasks().close();
            shared.tasks().wait().await;
            // From here on no session wakes. What those write that have woken since is waited for.
            shared.context.closed.store(true, Relaxed);
            shared.tasks().wait().await;
        })
        .await;
        // After all ends that could still be published.
        shared.handles.calls.inboxes.close();
        if ended.is_err() {
            // The actors stay: a late end can still be recorded, and shutdown can be tried again.
            return Err(ShutdownError { running: shared.tasks().len(), waited: patience });
        }
        match timeout_at(until, temporary::erase(&shared.handles)).await {
            Ok(Ok(())) => {}
            Ok(Err(cause)) => {
                error!(%cause, "temporary chats are left for the next start to erase")
            }
            Err(_) => {
                error!("temporary chats are left for the next start to erase: no time is left")
            }
        }
        shared.handles.supervisor.stop(None);
        shared.store().close().await;
        if let Some(occupied) = &shared.handles.occupied {
            occupied.release();
        }
        Ok(())
    }

    pub(crate) fn shared(&self) -> &Arc<SharedRuntime> {
        &self.shared
    }
}

#[cfg(any(test, feature = "testing"))]
impl madang_actors::supervisor::InspectRuntime for Runtime {
    fn inspect_actors(&self) -> &madang_actors::supervisor::RuntimeHandles {
        &self.shared.handles
    }

    fn inspect_tasks(&self) -> &tokio_util::task::TaskTracker {
        self.shared.tasks()
    }
}
