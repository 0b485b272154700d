//! The supervisor's actor, which carries out what `restart` decides.

use std::{error::Error, sync::Arc};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

use super::{
    child::Child,
    exit::{ChildExit, child_exit},
    restart::Verdict,
};
use crate::{
    approval::{ConfirmActor, ConfirmMsg},
    dispatcher::{CallContext, DispatcherActor, DispatcherMsg},
    llm::{LlmActor, LlmMsg, Models, NamedModel},
    mailbox::{Address, answer},
    port::{Clock, Extensions, Occupied, Store, UserWeights},
    protocol::{Languages, Limits, ModelName},
    registry::ToolRegistry,
    store::{Jobs, StoreActor, StoreArguments, StoreHandle, StoreMsg, WriterHealth},
};

/// The root of a runtime's actors.
#[derive(Debug)]
pub struct Supervisor;

impl Supervisor {
    /// Starts a supervisor with its children, and returns their addresses.
    ///
    /// Dropping the future stops what has started.
    ///
    /// # Errors
    /// [`StartError`] if one of them did not start.
    pub async fn start(config: RuntimeConfig) -> Result<Unclaimed, StartError> {
        // In a task of its own: a start that was dropped half-way could not stop its children.
        tokio::spawn(spawn(config))
            .await
            .unwrap_or_else(|cause| Err(cause.into()))
            .map_err(StartError)
    }
}

async fn spawn(config: RuntimeConfig) -> Result<Unclaimed, Box<dyn Error + Send + Sync>> {
    let (reply, handles) = oneshot::channel();
    Supervisor::spawn(None, Supervisor, (config, reply)).await?;
    Ok(Unclaimed(Some(handles.await?)))
}

/// The actors of a start, until they are claimed. Dropping it stops them and frees the store,
/// because no call has begun.
#[derive(Debug)]
#[must_use = "dropped, it stops the actors"]
pub struct Unclaimed(Option<RuntimeHandles>);

impl Unclaimed {
    /// Lets the actors go on, and returns their addresses.
    #[must_use]
    pub fn claim(mut self) -> RuntimeHandles {
        self.0.take().expect("they are claimed once, by value")
    }

    /// Returns the addresses of the actors.
    #[must_use]
    pub fn handles(&self) -> &RuntimeHandles {
        self.0.as_ref().expect("they are there until they are claimed")
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(handles) = self.0.take() {
            handles.supervisor.stop(None);
            if let Some(occupied) = &handles.occupied {
                occupied.release();
            }
        }
    }
}

/// Returned if an actor did not start.
#[derive(Debug, thiserror::Error)]
#[error("failed to start the actors")]
pub struct StartError(#[source] Box<dyn Error + Send + Sync>);

/// The parts from which the actors of a runtime are made.
#[derive(Debug, Clone)]
pub struct RuntimeConfig {
    /// The models, at least one. Each has an LlmActor.
    pub models: Vec<NamedModel>,
    /// The weights by which users share the time of each model.
    pub weights: UserWeights,
    /// The store that the StoreActor writes.
    pub store: Arc<dyn Store>,
    /// The right to the store.
    pub occupied: Option<Arc<Occupied>>,
    /// The tools by name.
    pub registry: Arc<ToolRegistry>,
    /// The bounds that the application set for the runtime.
    pub limits: Arc<Limits>,
    /// The languages of its texts for persons.
    pub languages: Languages,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// The values that the application passes to every tool.
    pub extensions: Extensions,
}

/// The addresses of a runtime's actors.
#[derive(Debug, Clone)]
pub struct RuntimeHandles {
    /// The supervisor, which is the parent of sessions. Stopping it stops all of them.
    pub supervisor: ActorCell,
    /// The handle through which callers reach the StoreActor.
    pub store: StoreHandle,
    /// The addresses of the LlmActors, in the order of the models.
    pub llms: Arc<[Address<LlmMsg>]>,
    /// The models with their queues, for callers.
    pub models: Models,
    /// The address of the ConfirmActor.
    pub confirm: Address<ConfirmMsg>,
    /// The address of the DispatcherActor.
    pub dispatcher: Address<DispatcherMsg>,
    /// The address of the StoreActor.
    pub store_actor: Address<StoreMsg>,
    /// The context that all calls share.
    pub calls: Arc<CallContext>,
    /// The health of the actors.
    pub health: watch::Receiver<Health>,
    /// The health of the store's writers.
    pub writer_health: Arc<WriterHealth>,
    /// The right to the store, which ends with the last handle.
    pub occupied: Option<Arc<Occupied>>,
}

/// Whether a runtime can serve.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Every actor runs, or is being restarted.
    Healthy,
    /// An actor reached its restart limit. Requests that need it end with an error at once. Only a
    /// new runtime starts it again.
    Unhealthy {
        /// The name of the actor.
        actor: &'static str,
        /// The model of the actor, if it has one with a name. Other models go on.
        model: Option<ModelName>,
    },
}

/// Reports to the [`Supervisor`] that the delay of the child at this index is over. The supervisor
/// sends this to itself.
#[derive(Debug)]
pub struct StartAnew(usize);

/// The state of a [`Supervisor`].
#[derive(Debug)]
pub struct Supervising {
    health: watch::Sender<Health>,
    /// Kept as long as the actors live, though no handle of the runtime is left.
    _occupied: Option<Arc<Occupied>>,
    children: Vec<Child>,
}

impl Actor for Supervisor {
    type Msg = StartAnew;
    type State = Supervising;
    /// With the receiver of the actors' addresses.
    type Arguments = (RuntimeConfig, oneshot::Sender<RuntimeHandles>);

    async fn pre_start(
        &self,
        me: ActorRef<StartAnew>,
        (config, reply): Self::Arguments,
    ) -> Result<Supervising, ActorProcessingErr> {
        let limits = &config.limits;
        let tasks = TaskTracker::new();
        let (health, healthy) = watch::channel(Health::Healthy);
        let writer_health = Arc::new(WriterHealth::default());
        let jobs = Jobs::new(config.store.writers(), limits);
        let arguments = StoreArguments {
            store: config.store.clone(),
            limits: limits.clone(),
            tasks: tasks.clone(),
            health: writer_health.clone(),
            jobs: jobs.clone(),
        };
        let mut children = Vec::new();
        let under = (&me.get_cell(), &**limits);
        let store_actor = Child::start::<StoreActor>(&mut children, arguments, None, under).await?;
        let store = StoreHandle::new(store_actor.clone(), jobs, config.store, limits);
        let confirm = Child::start::<ConfirmActor>(&mut children, (), None, under).await?;
        let calls = CallContext::new(
            config.registry,
            limits.clone(),
            store.clone(),
            confirm.clone(),
            config.clock,
            config.extensions,
            tasks,
        );
        let calls = Arc::new(calls.speaking(config.languages));
        let dispatcher =
            Child::start::<DispatcherActor>(&mut children, calls.clone(), None, under).await?;
        let models = Models::new(config.models, &config.weights, limits);
        let mut llms = Vec::with_capacity(models.queues().len());
        for queue in models.queues() {
            let (queue, model) = (queue.clone(), queue.name().cloned());
            llms.push(Child::start::<LlmActor>(&mut children, queue, model, under).await?);
        }
        let handles = RuntimeHandles {
            supervisor: me.get_cell(),
            store,
            llms: llms.into(),
            models,
            confirm,
            dispatcher,
            store_actor,
            calls,
            health: healthy,
            writer_health,
            occupied: config.occupied.clone(),
        };
        answer(reply, handles);
        Ok(Supervising { health, _occupied: config.occupied, children })
    }

    async fn handle(
        &self,
        me: ActorRef<StartAnew>,
        StartAnew(index): StartAnew,
        state: &mut Supervising,
    ) -> Result<(), ActorProcessingErr> {
        let child = &state.children[index];
        if let Err(cause) = child.actor.restart(me.get_cell()).await {
            error!(actor = child.name, %cause, "failed to start an actor anew");
            state.restart_limit_reached(index);
        }
        Ok(())
    }

    // Without this, ractor's default would stop the runtime when any child ends.
    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<StartAnew>,
        event: SupervisionEvent,
        state: &mut Supervising,
    ) -> Result<(), ActorProcessingErr> {
        let Some((cell, exit)) = child_exit(event) else { return Ok(()) };
        let mut children = state.children.iter_mut().enumerate();
        let Some((index, child)) = children.find(|(_, child)| child.actor.id() == cell.get_id())
        else {
            // A session is temporary: its slot reopens it from the store on the next use.
            if exit != ChildExit::Stopped {
                error!(?exit, "a session ended unexpectedly");
            }
            return Ok(());
        };
        match child.restarts.on(&exit, Instant::now()) {
            Verdict::Restart { after } => {
                warn!(actor = child.name, ?exit, ?after, "starting an actor anew");
                me.send_after(after, move || StartAnew(index));
            }
            Verdict::Forget => {}
            Verdict::Escalate => state.restart_limit_reached(index),
        }
        Ok(())
    }
}

impl Supervising {
    fn restart_limit_reached(&self, index: usize) {
        let Child { name, model, actor, .. } = &self.children[index];
        let of = model.as_ref().map(ModelName::as_str);
        error!(
            actor = name,
            model = of,
            "an actor reached its restart limit; the runtime is unhealthy"
        );
        actor.give_up();
        self.health.send_replace(Health::Unhealthy { actor: name, model: model.clone() });
    }
}
