//! The shell of the supervisor.

use std::{error::Error, sync::Arc};

use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

use super::{
    exit::child_exit,
    restart::{Policy, Restarts, Verdict},
};
use crate::{
    approval::{ConfirmActor, ConfirmMsg},
    dispatcher::{CallContext, DispatcherActor, DispatcherMsg},
    llm::{LlmActor, LlmMsg, ModelQueue, Models, NamedModel},
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
    /// Starts a supervisor with its children, and gives their addresses.
    ///
    /// Dropping the future stops what has started.
    ///
    /// # Errors
    /// [`StartError`] if one of them did not start.
    pub async fn start(config: SupervisorConfig) -> Result<RuntimeHandles, StartError> {
        // In a task of its own: a start that was dropped half-way could not stop its children.
        let starting = tokio::spawn(spawn(config));
        let handles = starting.await.map_err(|cause| StartError(cause.into()))??;
        Ok(handles.claim())
    }
}

async fn spawn(config: SupervisorConfig) -> Result<Unclaimed, StartError> {
    let failed = |cause: Box<dyn Error + Send + Sync>| StartError(cause);
    let (supervisor, _) =
        Supervisor::spawn(None, Supervisor, config).await.map_err(|cause| failed(cause.into()))?;
    let (reply, handles) = oneshot::channel();
    supervisor.cast(SupervisorMsg::Handles { reply }).map_err(|cause| failed(cause.into()))?;
    handles.await.map(|handles| Unclaimed(Some(handles))).map_err(|cause| failed(cause.into()))
}

/// The addresses of a runtime until they are claimed. Dropping them stops the runtime.
struct Unclaimed(Option<RuntimeHandles>);

impl Unclaimed {
    fn claim(mut self) -> RuntimeHandles {
        self.0.take().expect("a handles is claimed once, by value")
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(handles) = self.0.take() {
            handles.supervisor.stop(None);
        }
    }
}

/// Tells that an actor did not start.
#[derive(Debug, thiserror::Error)]
#[error("failed to start the actors")]
pub struct StartError(#[source] Box<dyn Error + Send + Sync>);

/// The parts from which the actors of a runtime are made.
#[derive(Debug, Clone)]
pub struct SupervisorConfig {
    /// The models, at least one, each of which gets an LlmActor.
    pub models: Vec<NamedModel>,
    /// The weights by which users share the time of each model.
    pub weights: UserWeights,
    /// The store behind the StoreActor.
    pub store: Arc<dyn Store>,
    /// The right to the store, which ends with the actors.
    pub occupied: Option<Arc<Occupied>>,
    /// The tools by name.
    pub registry: Arc<ToolRegistry>,
    /// The bounds.
    pub limits: Arc<Limits>,
    /// The languages in which it speaks to persons.
    pub languages: Languages,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// The values that the embedder hands to every tool.
    pub extensions: Extensions,
    /// The work that outlives its caller.
    pub tasks: TaskTracker,
    /// The health of the store's writers.
    pub writer_health: Arc<WriterHealth>,
}

/// The addresses of a runtime's actors.
#[derive(Debug, Clone)]
pub struct RuntimeHandles {
    /// The supervisor: the parent of sessions. Stopping it stops all of them.
    pub supervisor: ActorCell,
    /// The handle through which callers reach the StoreActor.
    pub store: StoreHandle,
    /// The addresses of the LlmActors, in the order of the models.
    pub llms: Arc<[Address<LlmMsg>]>,
    /// The models with their queues, where callers ask them.
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
}

/// Tells whether a runtime can serve.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Every actor runs, or is being restarted.
    Healthy,
    /// An actor reached its restart limit. Requests that need it end with an error at once; only a new runtime has it
    /// again.
    Unhealthy {
        /// The name of the actor.
        actor: &'static str,
        /// The model of the actor, where it has one with a name. Other models go on.
        model: Option<ModelName>,
    },
}

/// A message for the [`Supervisor`].
#[derive(Debug)]
pub enum SupervisorMsg {
    /// Asks for the addresses of the runtime's actors.
    Handles {
        /// Receives the addresses.
        reply: oneshot::Sender<RuntimeHandles>,
    },
    /// A child's delay is over. The supervisor sends this to itself.
    Start(Role),
}

/// The role of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The StoreActor.
    Store,
    /// The LlmActor of the model at this place.
    Llm(usize),
    /// The ConfirmActor.
    Confirm,
    /// The DispatcherActor.
    Dispatcher,
}

impl Role {
    /// Gives the roles of a runtime with so many models.
    fn all(models: usize) -> impl Iterator<Item = Self> {
        [Self::Store, Self::Confirm, Self::Dispatcher].into_iter().chain((0..models).map(Self::Llm))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Llm(_) => "llm",
            Self::Confirm => "confirm",
            Self::Dispatcher => "dispatcher",
        }
    }

    const fn policy(self) -> Policy {
        match self {
            Self::Store | Self::Confirm | Self::Dispatcher => Policy::Permanent,
            Self::Llm(_) => Policy::PermanentWithDelay,
        }
    }
}

/// The state of a [`Supervisor`].
#[derive(Debug)]
pub struct Supervising {
    config: SupervisorConfig,
    jobs: Jobs,
    handles: RuntimeHandles,
    health: watch::Sender<Health>,
    restarts: Vec<(Role, Restarts)>,
}

impl Actor for Supervisor {
    type Msg = SupervisorMsg;
    type State = Supervising;
    type Arguments = SupervisorConfig;

    async fn pre_start(
        &self,
        me: ActorRef<SupervisorMsg>,
        config: SupervisorConfig,
    ) -> Result<Supervising, ActorProcessingErr> {
        let (health, healthy) = watch::channel(Health::Healthy);
        let jobs = Jobs::new(config.store.writers(), &config.limits);
        let store_actor = Address::new(config.start_store(&jobs, &me).await?);
        let store = StoreHandle::new(
            store_actor.clone(),
            jobs.clone(),
            config.store.clone(),
            &config.limits,
        );
        let confirm = Address::new(config.start_confirm(&me).await?);
        let calls = CallContext::new(
            config.registry.clone(),
            config.limits.clone(),
            store.clone(),
            confirm.clone(),
            config.clock.clone(),
            config.extensions.clone(),
            config.tasks.clone(),
        );
        let calls = Arc::new(calls.speaking(config.languages.clone()));
        let dispatcher = Address::new(start_dispatcher(&calls, &me).await?);
        let models = Models::new(config.models.clone(), &config.weights, &config.limits);
        let mut llms = Vec::with_capacity(models.queues().len());
        for queue in models.queues() {
            llms.push(Address::new(start_llm(queue, &me).await?));
        }
        let Limits { max_restarts, restart_window, .. } = *config.limits;
        let restarts = Role::all(llms.len())
            .map(|role| (role, Restarts::new(role.policy(), max_restarts, restart_window)));
        let restarts = restarts.collect();
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
        };
        Ok(Supervising { config, jobs, handles, health, restarts })
    }

    async fn handle(
        &self,
        me: ActorRef<SupervisorMsg>,
        msg: SupervisorMsg,
        state: &mut Supervising,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            SupervisorMsg::Handles { reply } => answer(reply, state.handles.clone()),
            SupervisorMsg::Start(role) => {
                if let Err(cause) = state.start(role, &me).await {
                    error!(actor = role.name(), %cause, "failed to start an actor anew");
                    state.restart_limit_reached(role);
                }
            }
        }
        Ok(())
    }

    // Without this, ractor's default would stop the whole runtime when any child ends.
    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<SupervisorMsg>,
        event: SupervisionEvent,
        state: &mut Supervising,
    ) -> Result<(), ActorProcessingErr> {
        let Some((cell, exit)) = child_exit(event) else { return Ok(()) };
        let Some(role) = state.role(cell.get_id()) else {
            // A session is temporary: its slot reopens it from the store on the next use.
            if exit != super::exit::ChildExit::Stopped {
                error!(?exit, "a session ended unexpectedly");
            }
            return Ok(());
        };
        let restarts = state.restarts.iter_mut().find(|(of, _)| *of == role);
        let verdict =
            restarts.map_or(Verdict::Forget, |(_, restarts)| restarts.on(&exit, Instant::now()));
        match verdict {
            Verdict::Restart { after } => {
                warn!(actor = role.name(), ?exit, ?after, "starting an actor anew");
                me.send_after(after, move || SupervisorMsg::Start(role));
            }
            Verdict::Forget => {}
            Verdict::Escalate => state.restart_limit_reached(role),
        }
        Ok(())
    }
}

impl Supervising {
    /// Finds the role that this child has now; sessions have none.
    fn role(&self, child: ActorId) -> Option<Role> {
        Role::all(self.handles.llms.len()).find(|role| {
            let now = match *role {
                Role::Store => self.handles.store_actor.actor().get_id(),
                Role::Llm(model) => self.handles.llms[model].actor().get_id(),
                Role::Confirm => self.handles.confirm.actor().get_id(),
                Role::Dispatcher => self.handles.dispatcher.actor().get_id(),
            };
            now == child
        })
    }

    async fn start(
        &self,
        role: Role,
        me: &ActorRef<SupervisorMsg>,
    ) -> Result<(), ActorProcessingErr> {
        match role {
            Role::Store => {
                let store = self.config.start_store(&self.jobs, me).await?;
                self.handles.store_actor.moved(store.clone());
                // For a job that came after it had looked, and was told to the actor before it.
                store.cast(StoreMsg::Work)?;
            }
            Role::Llm(model) => {
                let llm = start_llm(self.handles.models.queue(model), me).await?;
                self.handles.llms[model].moved(llm);
            }
            Role::Confirm => self.handles.confirm.moved(self.config.start_confirm(me).await?),
            Role::Dispatcher => {
                self.handles.dispatcher.moved(start_dispatcher(&self.handles.calls, me).await?)
            }
        }
        Ok(())
    }

    fn restart_limit_reached(&self, role: Role) {
        let model = self.model(role);
        let (actor, of) = (role.name(), model.as_ref().map(ModelName::as_str));
        error!(actor, model = of, "an actor reached its restart limit; the runtime is unhealthy");
        match role {
            Role::Store => {
                self.jobs.close();
                self.handles.store_actor.restarts_end();
            }
            Role::Llm(model) => self.handles.llms[model].restarts_end(),
            Role::Confirm => self.handles.confirm.restarts_end(),
            Role::Dispatcher => self.handles.dispatcher.restarts_end(),
        }
        self.health.send_replace(Health::Unhealthy { actor, model });
    }

    /// Gives the name of a role's model.
    fn model(&self, role: Role) -> Option<ModelName> {
        match role {
            Role::Llm(model) => self.handles.models.queue(model).name().cloned(),
            Role::Store | Role::Confirm | Role::Dispatcher => None,
        }
    }
}

impl SupervisorConfig {
    async fn start_store(
        &self,
        jobs: &Jobs,
        me: &ActorRef<SupervisorMsg>,
    ) -> Result<ActorRef<StoreMsg>, ActorProcessingErr> {
        let arguments = StoreArguments {
            store: self.store.clone(),
            limits: self.limits.clone(),
            tasks: self.tasks.clone(),
            health: self.writer_health.clone(),
            jobs: jobs.clone(),
        };
        Ok(StoreActor::spawn_linked(None, StoreActor, arguments, me.get_cell()).await?.0)
    }

    async fn start_confirm(
        &self,
        me: &ActorRef<SupervisorMsg>,
    ) -> Result<ActorRef<ConfirmMsg>, ActorProcessingErr> {
        Ok(ConfirmActor::spawn_linked(None, ConfirmActor, (), me.get_cell()).await?.0)
    }
}

async fn start_llm(
    model_queue: &ModelQueue,
    me: &ActorRef<SupervisorMsg>,
) -> Result<ActorRef<LlmMsg>, ActorProcessingErr> {
    Ok(LlmActor::spawn_linked(None, LlmActor, model_queue.clone(), me.get_cell()).await?.0)
}

async fn start_dispatcher(
    calls: &Arc<CallContext>,
    me: &ActorRef<SupervisorMsg>,
) -> Result<ActorRef<DispatcherMsg>, ActorProcessingErr> {
    Ok(DispatcherActor::spawn_linked(None, DispatcherActor, calls.clone(), me.get_cell()).await?.0)
}
