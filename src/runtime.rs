//! The runtime: the tree of actors, and the slots to its sessions.

use std::sync::Arc;

use madang_actors::{
    approval,
    port::{
        ChatModel, Clock, Extensions, LedgerFilter, LedgerRow, Occupancy, Occupied, Store,
        StoreError, UserWeights, Write,
    },
    protocol::{
        Answer, AnswerError, Languages, LimitExceeded, Limits, SessionId, ToolSpec, UserId,
    },
    registry::ToolRegistry,
    session::{
        History, RuntimeContext, Sent, SessionMsg, SessionRegistry, SessionSlot, WakePolicy, open,
    },
    store::WriterHealth,
    supervisor::{Children, Health, InspectRuntime, RuntimeHandles, Supervisor},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Builder, Session,
    error::{BuildError, SessionError, ShutdownError},
    resume::Interrupted,
    time_zone::TimeZones,
};

/// Many concurrent chats on one model, one store and one set of tools. Cheap to clone.
///
/// Dropping every clone does not stop running turns and calls: call [`Runtime::shutdown`].
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
/// let kim = runtime.session("kim", "chat-1").await?;
/// let lee = runtime.session("lee", "chat-2").await?;
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
    inner: Arc<Inner>,
}

/// The settings that a builder has put together for a runtime.
pub(crate) struct RuntimeConfig {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) weights: UserWeights,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: Arc<ToolRegistry>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) system: Option<Arc<str>>,
    pub(crate) history: History,
    pub(crate) languages: Languages,
    pub(crate) time_zones: TimeZones,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) extensions: Extensions,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) tree: RuntimeHandles,
    pub(crate) context: Arc<RuntimeContext>,
    pub(crate) sessions: SessionRegistry,
    pub(crate) limits: Arc<Limits>,
    pub(crate) languages: Languages,
    pub(crate) time_zones: TimeZones,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: TaskTracker,
    pub(crate) interrupted: Interrupted,
    store: Arc<dyn Store>,
    occupied: Option<Arc<Occupied>>,
    writer_health: Arc<WriterHealth>,
}

/// Stops the actors of a start that fails or is dropped half-way: no other handle leads to them.
struct Unfinished {
    tree: Option<RuntimeHandles>,
    occupied: Option<Arc<Occupied>>,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(tree) = self.tree.take() {
            tree.supervisor.stop(None);
        }
        // No call has begun.
        if let Some(occupied) = self.occupied.take() {
            occupied.release();
        }
    }
}

impl Runtime {
    /// Begins to build a runtime.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) async fn from_config(config: RuntimeConfig) -> Result<Self, BuildError> {
        let RuntimeConfig {
            model,
            weights,
            store,
            registry,
            limits,
            system,
            history,
            languages,
            time_zones,
            clock,
            extensions,
        } = config;
        let occupied = match store.occupancy().map(Occupancy::occupy) {
            Some(None) => return Err(BuildError::StoreInUse),
            Some(Some(occupied)) => Some(Arc::new(occupied)),
            None => None,
        };
        let mut unfinished = Unfinished { tree: None, occupied: occupied.clone() };
        let tasks = TaskTracker::new();
        let writer_health = Arc::new(WriterHealth::default());
        let children = Children {
            model: model.clone(),
            weights,
            store: store.clone(),
            occupied: occupied.clone(),
            registry: registry.clone(),
            limits: limits.clone(),
            languages: languages.clone(),
            clock: clock.clone(),
            extensions,
            tasks: tasks.clone(),
            writer_health: writer_health.clone(),
        };
        let tree = Supervisor::start(children).await?;
        unfinished.tree = Some(tree.clone());
        let interrupted = Interrupted::find(&tree).await.map_err(BuildError::Store)?;
        unfinished.tree = None;
        unfinished.occupied = None;
        let specs: Vec<ToolSpec> = registry.iter().map(|tool| tool.spec().clone()).collect();
        let context = Arc::new(RuntimeContext {
            store: tree.store.clone(),
            llm: tree.model_queue.clone(),
            model,
            dispatcher: tree.dispatcher.clone(),
            around: tree.around.clone(),
            specs: specs.into(),
            system,
            history,
            supervisor: tree.supervisor.clone(),
            tasks: tasks.clone(),
            closing: CancellationToken::new(),
        });
        let inner = Inner {
            tree,
            context,
            sessions: SessionRegistry::default(),
            limits,
            languages,
            time_zones,
            clock,
            tasks,
            interrupted,
            store,
            occupied,
            writer_health,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens a user's session, or creates it. The session is asleep until it is used; but where its process ended in
    /// mid-turn it wakes now, and the turn goes on.
    ///
    /// # Errors
    /// [`SessionError::Foreign`] if it is another user's.
    pub async fn session(&self, user: &str, session: &str) -> Result<Session, SessionError> {
        let (user, session) = (UserId::new(user)?, SessionId::new(session)?);
        self.open(&user, &session).await?;
        let slot = self.inner.sessions.slot(&session, &user, &self.inner.limits);
        let slot = slot.ok_or_else(|| SessionError::Foreign(session.clone()))?;
        if self.inner.interrupted.take(&session) {
            self.inner.wake(&slot);
        }
        Ok(Session::new(slot, self.inner.clone()))
    }

    /// Ensures that the session exists and belongs to this user.
    pub(crate) async fn open(
        &self,
        user: &UserId,
        session: &SessionId,
    ) -> Result<(), SessionError> {
        if self.inner.is_closed() {
            return Err(SessionError::Closed);
        }
        let failed = |cause| SessionError::Store { session: session.clone(), cause };
        if let Some(owner) = self.inner.store.owner(session).await.map_err(failed)? {
            return if owner == *user {
                Ok(())
            } else {
                Err(SessionError::Foreign(session.clone()))
            };
        }
        let open = Write::Session {
            session: session.clone(),
            user: user.clone(),
            at: self.inner.clock.now(),
        };
        match self.inner.tree.store.write(vec![open]).await {
            Ok(()) => Ok(()),
            Err(StoreError::Refused { .. }) => Err(SessionError::Foreign(session.clone())),
            // Where only the reply was lost, the session exists.
            Err(cause) if cause.may_have_happened() => {
                match self.inner.store.owner(session).await.map_err(failed)? {
                    Some(owner) if owner == *user => Ok(()),
                    Some(_) => Err(SessionError::Foreign(session.clone())),
                    None => Err(failed(cause)),
                }
            }
            Err(cause) => Err(failed(cause)),
        }
    }

    /// Gives the tools of this runtime.
    #[must_use]
    pub fn registry(&self) -> &ToolRegistry {
        &self.inner.tree.around.registry
    }

    /// Reads the tool calls that match, in the order in which they were proposed.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub async fn ledger(&self, filter: &LedgerFilter) -> Result<Vec<LedgerRow>, StoreError> {
        self.inner.store.calls(filter).await
    }

    /// Answers a question. Exactly one answer wins; it counts once it is recorded.
    ///
    /// # Errors
    /// [`AnswerError`] says why the answer does not count.
    pub async fn answer(&self, answer: Answer) -> Result<(), AnswerError> {
        self.inner.answer(answer).await
    }

    /// Tells whether the runtime can serve; after shutdown it cannot. A handler that blocks its thread while it holds
    /// the store's transaction counts against the store.
    #[must_use]
    pub fn health(&self) -> Health {
        let inner = &self.inner;
        if inner.writer_health.overdue_leases() > 0 {
            return Health::Unhealthy { actor: "store" };
        }
        if inner.tree.health.has_changed().is_err() {
            return Health::Unhealthy { actor: "supervisor" };
        }
        inner.tree.health.borrow().clone()
    }

    /// Counts the sessions in memory: those that are awake, and those that sleep while a handle or a subscriber is
    /// kept.
    #[must_use]
    pub fn sessions_in_memory(&self) -> usize {
        self.inner.sessions.count()
    }

    /// Stops in order: no new turns begin, models stop, begun handlers finish and commit, the store is closed last.
    /// Waits at most `Limits::shutdown_timeout`.
    ///
    /// Running turns stay open in the store with their questions, and go on after the next start. Those of a chat in
    /// memory end as dismissed.
    ///
    /// # Errors
    /// [`ShutdownError`] if handlers or writes were still running then.
    pub async fn shutdown(&self) -> Result<(), ShutdownError> {
        let inner = &self.inner;
        inner.context.closing.cancel();
        let patience = inner.limits.shutdown_timeout;
        let ended = tokio::time::timeout(patience, async {
            inner.sessions.close().await;
            inner.tasks.close();
            inner.tasks.wait().await;
        })
        .await;
        if ended.is_err() {
            // The actors stay: a late end can still be recorded, and shutdown can be tried again.
            return Err(ShutdownError { running: inner.tasks.len(), waited: patience });
        }
        inner.tree.supervisor.stop(None);
        inner.store.close().await;
        if let Some(occupied) = &inner.occupied {
            occupied.release();
        }
        Ok(())
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl InspectRuntime for Runtime {
    fn inspect_actors(&self) -> &RuntimeHandles {
        &self.inner.tree
    }

    fn inspect_tasks(&self) -> &TaskTracker {
        &self.inner.tasks
    }
}

/// Tells whether a message reaches a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The session has the message, or will have it when it wakes.
    Sent,
    /// Too many messages wait already.
    Full(LimitExceeded),
    /// The runtime shuts down.
    Closed,
}

impl Inner {
    /// Sends a message through a session's slot, and wakes the session if it sleeps.
    pub(crate) fn send(&self, slot: &Arc<SessionSlot>, msg: SessionMsg) -> Delivery {
        if self.is_closed() {
            return Delivery::Closed;
        }
        match slot.send(msg) {
            Sent::Delivered => Delivery::Sent,
            Sent::WakeIt => {
                self.open(slot, WakePolicy::RefuseIfFull);
                Delivery::Sent
            }
            Sent::Full(_, refusal) => Delivery::Full(refusal),
        }
    }

    /// Wakes a session without a message, because a turn or call of it must go on.
    pub(crate) fn wake(&self, slot: &Arc<SessionSlot>) {
        if !self.is_closed() && slot.wake() {
            self.open(slot, WakePolicy::WaitForRoom);
        }
    }

    /// In a task of its own: the caller may leave, and others may be waiting at the slot.
    fn open(&self, slot: &Arc<SessionSlot>, policy: WakePolicy) {
        drop(self.tasks.spawn(open(slot.clone(), self.context.clone(), policy)));
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.context.closing.is_cancelled()
    }

    pub(crate) async fn answer(&self, answer: Answer) -> Result<(), AnswerError> {
        approval::answer(&self.tree.confirm, answer, &self.limits).await
    }
}
