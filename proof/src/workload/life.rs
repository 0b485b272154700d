//! One runtime on a store: its start, its end, and the kills of its actors.

use std::{sync::Arc, time::Duration};

use madang::{
    Builder, Clock as _, Error, Limits, Runtime, Session,
    error::{Bound, BuildError},
    model::{Completion, ModelError, PromptMessage},
    store::Store,
};
use madang_testing::{RuntimeHooks as _, SessionHooks as _, SteppedStore};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{
    fate::Fate,
    follow::follow,
    model::FickleModel,
    tools,
    visits::{SessionPlan, Victim},
    weather::Weather,
};
use crate::{
    audit::Counter,
    mistakes::{Mistake, MistakenClock, MistakenSteps, tools as mistaken_tools},
    oracle::{Line, Witness},
};

/// The parts that outlive each life: sessions, oracle and chance.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The sessions and their users.
    pub sessions: Arc<Vec<SessionPlan>>,
    /// The source of chance and time.
    pub fate: Fate,
    /// The record outside of the runtime.
    pub witness: Witness,
    /// The mistake that is made outside of the runtime.
    pub mistake: Option<Mistake>,
    /// The bounds of each runtime.
    pub limits: Limits,
}

/// One life: a runtime, and the scene around it.
#[derive(Debug)]
pub struct Life {
    pub(super) scene: Scene,
    pub(crate) runtime: Runtime,
    /// Tells people that the runtime has ended: they leave.
    pub(super) has_ended: CancellationToken,
}

/// Completions at once: fewer than sessions, so that some wait.
const FEW: usize = 3;

impl Scene {
    /// Makes a scene for real time without a mistake. Sessions fall asleep between turns now and
    /// then, and questions expire.
    #[must_use]
    pub fn hurried(sessions: Vec<SessionPlan>, fate: Fate, witness: Witness) -> Self {
        let limits = Limits {
            session_idle: Duration::from_millis(20),
            decision_timeout: Duration::from_secs(2),
            ..Limits::default()
        };
        Self { sessions: sessions.into(), fate, witness, mistake: None, limits }
    }

    /// Starts a runtime on this store.
    ///
    /// # Errors
    /// [`BuildError`] if it cannot be started.
    pub async fn begin<S: Store + Clone>(&self, store: S) -> Result<Arc<Life>, BuildError> {
        let cast = self.cast(&store, FEW);
        self.begin_with(store, cast).await
    }

    /// Builds two models that follow plans, each with this many completions at once, and the tools
    /// that they call. The second answers where the first is too busy or lost.
    pub(crate) fn cast<S: Store + Clone>(&self, store: &S, at_once: usize) -> Builder {
        let (Self { fate, witness, .. }, mistake) = (self, self.mistake);
        let timeout = self.limits.tool_timeout;
        let tools = tools::all(store.connection_type(), timeout, fate, witness);
        let tools = mistaken_tools(tools, &(Arc::new(store.clone()) as Arc<dyn Store>), mistake);
        let model = || self.model(at_once, follow);
        Runtime::builder().model(model()).add_model("spare", model()).tools(tools)
    }

    /// Builds a model that follows plans in this way, with this many completions at once.
    pub(crate) fn model(
        &self,
        at_once: usize,
        follow: fn(&[PromptMessage]) -> Result<Completion, ModelError>,
    ) -> FickleModel {
        FickleModel { fate: self.fate.clone(), mistake: self.mistake, at_once, follow }
    }

    /// Starts a runtime with this model and these tools.
    pub(crate) async fn begin_with<S: Store>(
        &self,
        store: S,
        cast: Builder,
    ) -> Result<Arc<Life>, BuildError> {
        let (Self { fate, witness, .. }, mistake) = (self, self.mistake);
        let began = fate.now();
        let store = SteppedStore::new(store, MistakenSteps::new(mistake));
        let runtime = cast
            .store(SteppedStore::new(store, Weather(fate.clone())))
            .clock(MistakenClock { clock: fate.clone(), mistake, began })
            .time_zone("UTC")
            .limits(self.limits.clone())
            .start()
            .await?;
        fate.note(format_args!("a life begins"));
        witness.note(Line::Ready);
        Ok(Arc::new(Life { scene: self.clone(), runtime, has_ended: CancellationToken::new() }))
    }
}

impl Life {
    /// Ends the runtime in order. False if a part of it went on.
    pub async fn shut_down(&self) -> bool {
        let fate = &self.scene.fate;
        if let Err(error) = self.runtime.shutdown().await {
            fate.note(format_args!("{error}"));
            return false;
        }
        fate.note(format_args!("a life ends"));
        self.has_ended.cancel();
        // Stopped actors end a moment later, or later still where the machine is busy. A write of a
        // person that came too late waits for as long as a store may take.
        let held = || -> Vec<_> {
            Bound::ALL.into_iter().filter(|bound| self.runtime.held(*bound) > 0).collect()
        };
        let mut patience = 0..80;
        while patience.next().is_some() && !(held().is_empty() && self.runtime.running_tasks() == 0)
        {
            sleep(Duration::from_millis(50)).await;
        }
        let held = held();
        let tasks = self.runtime.running_tasks();
        if !held.is_empty() || tasks > 0 {
            self.finds(Counter::Stuck, format!("held after the shutdown: {held:?}, {tasks} tasks"));
        }
        self.scene.witness.note(Line::ShutDown);
        true
    }

    /// Kills actors, each after a wait.
    pub(crate) async fn kills(self: Arc<Self>, kills: Vec<(Duration, Victim)>) {
        for (wait, victim) in kills {
            sleep(wait).await;
            self.kill(victim).await;
        }
    }

    /// Opens the session of this number for its person.
    pub(crate) async fn session(&self, number: usize) -> Result<Session, Error> {
        let plan = &self.scene.sessions[number];
        self.runtime.user(&plan.user)?.session(&plan.name).await
    }

    /// Kills an actor, and waits for its successor if all sessions share it.
    pub(crate) async fn kill(&self, victim: Victim) {
        self.scene.fate.note(format_args!("{victim:?} is killed"));
        let tree = self.runtime.actors();
        match victim {
            Victim::Session(number) => {
                if let Ok(session) = self.session(number).await {
                    session.kill();
                }
            }
            Victim::Confirm => tree.confirm.kill().await,
            Victim::Dispatcher => tree.dispatcher.kill().await,
            Victim::Store => tree.store_actor.kill().await,
            Victim::Llm => tree.llms[0].kill().await,
        }
    }

    /// Tells whether people make this mistake.
    pub(super) fn makes(&self, mistake: Mistake) -> bool {
        self.scene.mistake == Some(mistake)
    }

    pub(super) fn finds(&self, counter: Counter, what: String) {
        self.scene.witness.finds(counter, what);
    }
}
