//! One runtime on a store, and the people in it.

use std::{sync::Arc, time::Duration};

use madang::{
    Builder, Clock as _, Limits, Runtime,
    error::{Bound, BuildError},
    store::Store,
};
use madang_testing::{RuntimeHooks as _, SessionHooks as _, SteppedStore};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Fate, SessionPlan, Victim, Visit, model::FickleModel, person::Person, tools, weather::Weather,
};
use crate::{
    audit::Counter,
    mistakes::{Mistake, MistakenClock, MistakenModel, MistakenSteps, tools as mistaken_tools},
    oracle::{Line, Witness},
};

/// What outlives each life: who chats, what is known of them, and what is drawn for them.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Who chats.
    pub sessions: Arc<Vec<SessionPlan>>,
    /// Where chance and time come from.
    pub fate: Fate,
    /// What is written down.
    pub witness: Witness,
    /// The mistake that is made outside of the runtime.
    pub mistake: Option<Mistake>,
    /// The bounds of each runtime.
    pub limits: Limits,
}

/// One life: a runtime, and what its people need.
#[derive(Debug)]
pub struct Life {
    pub(super) scene: Scene,
    pub(crate) runtime: Runtime,
}

/// No life takes so long by its own clock.
const ENDLESS: Duration = Duration::from_secs(3_600);

/// Completions at once: fewer than sessions, so that some wait for their turn.
const FEW: usize = 3;

impl Scene {
    /// Bounds for real time: sessions fall asleep between their turns now and then, and questions expire.
    #[must_use]
    pub fn hurried() -> Limits {
        let mut limits = Limits::default();
        limits.session_idle = Duration::from_millis(20);
        limits.decision_timeout = Duration::from_secs(2);
        limits
    }

    /// Starts a runtime on this store.
    ///
    /// # Errors
    /// [`BuildError`] if it cannot be started.
    pub async fn begin<S: Store + Clone>(&self, store: S) -> Result<Arc<Life>, BuildError> {
        let cast = self.cast(&store, FEW);
        self.begin_with(store, cast).await
    }

    /// The model that follows plans, so many completions at once, and the tools that it calls.
    pub(crate) fn cast<S: Store + Clone>(&self, store: &S, at_once: usize) -> Builder {
        let (Self { fate, witness, .. }, mistake) = (self, self.mistake);
        let timeout = self.limits.tool_timeout;
        let tools = tools::all(store.connection_type(), timeout, fate, witness);
        let tools = mistaken_tools(tools, &(Arc::new(store.clone()) as Arc<dyn Store>), mistake);
        let model = FickleModel { fate: fate.clone(), at_once };
        Runtime::builder().model(MistakenModel { model, mistake }).tools(tools)
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
        Ok(Arc::new(Life { scene: self.clone(), runtime }))
    }
}

impl Life {
    /// Lets everybody make their visits. False where they do not end.
    pub async fn visits(self: &Arc<Self>, visits: Vec<Vec<Visit>>) -> bool {
        self.visits_at_once(visits, Semaphore::MAX_PERMITS).await
    }

    /// Lets everybody make their visits, so many at once.
    pub(crate) async fn visits_at_once(
        self: &Arc<Self>,
        visits: Vec<Vec<Visit>>,
        at_once: usize,
    ) -> bool {
        let places = Arc::new(Semaphore::new(at_once));
        let mut people = JoinSet::new();
        for (number, visits) in visits.into_iter().enumerate() {
            let (life, places) = (self.clone(), places.clone());
            people.spawn(async move {
                if let Some(person) = Person::open(&life, number).await {
                    person.live(visits, &places).await;
                }
            });
        }
        let all = timeout(ENDLESS, async { while people.join_next().await.is_some() {} });
        let has_ended = all.await.is_ok();
        if !has_ended {
            self.finds(Counter::Stuck, "a life did not end".to_owned());
        }
        has_ended
    }

    /// Lets everybody come back once more, and hear everything to its end.
    pub async fn rests(self: &Arc<Self>) {
        let mut people = JoinSet::new();
        for number in 0..self.scene.sessions.len() {
            let life = self.clone();
            people.spawn(async move {
                if let Some(person) = Person::open(&life, number).await {
                    person.read_to_the_end().await;
                }
            });
        }
        let all = timeout(ENDLESS, async { while people.join_next().await.is_some() {} });
        if all.await.is_err() {
            self.finds(Counter::Stuck, "not everybody comes to rest".to_owned());
        }
    }

    /// Ends the runtime in order. False where something went on.
    pub async fn shut_down(&self) -> bool {
        let fate = &self.scene.fate;
        if let Err(error) = self.runtime.shutdown().await {
            fate.note(format_args!("{error}"));
            return false;
        }
        fate.note(format_args!("a life ends"));
        // Actors that were told to end do so a moment later.
        sleep(Duration::from_millis(50)).await;
        let held: Vec<_> =
            Bound::ALL.into_iter().filter(|bound| self.runtime.held(*bound) > 0).collect();
        let tasks = self.runtime.running_tasks();
        if !held.is_empty() || tasks > 0 {
            self.finds(Counter::Stuck, format!("held after the shutdown: {held:?}, {tasks} tasks"));
        }
        self.scene.witness.note(Line::Done);
        true
    }

    /// Kills actors, each so long after the one before.
    pub(crate) async fn kills(self: Arc<Self>, kills: Vec<(Duration, Victim)>) {
        for (wait, victim) in kills {
            sleep(wait).await;
            self.kill(victim).await;
        }
    }

    /// Kills an actor, and waits for the next one where all sessions share it.
    pub(crate) async fn kill(&self, victim: Victim) {
        self.scene.fate.note(format_args!("{victim:?} is killed"));
        let tree = self.runtime.actors();
        match victim {
            Victim::Session(number) => {
                let plan = &self.scene.sessions[number];
                if let Ok(session) = self.runtime.session(&plan.user, &plan.name).await {
                    session.kill();
                }
            }
            Victim::Confirm => tree.confirm.kill().await,
            Victim::Dispatcher => tree.dispatcher.kill().await,
            Victim::Store => tree.store_actor.kill().await,
            Victim::Llm => tree.llm.kill().await,
        }
    }

    /// Whether people make this mistake.
    pub(super) fn makes(&self, mistake: Mistake) -> bool {
        self.scene.mistake == Some(mistake)
    }

    pub(super) fn finds(&self, counter: Counter, what: String) {
        self.scene.witness.finds(counter, what);
    }
}
