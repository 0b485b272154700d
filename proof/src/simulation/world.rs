//! The lives of a run: one after the other on the same store, each on a thread and a clock of its own.

use std::{collections::BTreeMap, future::Future, pin::pin, sync::Arc, time::Duration};

use madang::{
    Clock as _, Limits, Runtime, TurnId,
    error::{Bound, BuildError},
    store::Store as _,
};
use madang_testing::{MemoryStore, RuntimeHooks as _, SessionHooks as _, SteppedStore};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    clock::PausedClock,
    fate::Fate,
    model::FickleModel,
    person::Person,
    plan::{LifePlan, SessionPlan, Victim},
    tools,
    weather::Weather,
    witness::{Began, Witness},
};
use crate::mistakes::{
    Mistake, MistakenClock, MistakenModel, MistakenSteps, tools as mistaken_tools,
};

/// A run: what outlives each life of its runtime.
#[derive(Debug)]
pub(super) struct World {
    pub(super) store: MemoryStore,
    pub(super) fate: Fate,
    pub(super) witness: Arc<Witness>,
    pub(super) sessions: Arc<Vec<SessionPlan>>,
    mistake: Option<Mistake>,
}

/// One life: a runtime, and what its people need.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) runtime: Runtime,
    pub(super) fate: Fate,
    pub(super) witness: Arc<Witness>,
    pub(super) sessions: Arc<Vec<SessionPlan>>,
    mistake: Option<Mistake>,
}

/// How a life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Everybody was done, and the runtime was shut down.
    Orderly,
    /// It died, and all that ran died with it.
    Died,
}

/// No life takes so long by its own clock.
const ENDLESS: Duration = Duration::from_secs(3_600);

impl World {
    pub(super) fn new(fate: Fate, sessions: Vec<SessionPlan>, mistake: Option<Mistake>) -> Self {
        Self {
            store: MemoryStore::new(),
            fate,
            witness: Arc::default(),
            sessions: Arc::new(sessions),
            mistake,
        }
    }

    /// Counts the turns that began.
    pub(super) fn turns(&self) -> u64 {
        let told = self.witness.told();
        let began = |told: &Option<Began>| matches!(told, Some(Began::Yes(_)));
        told.asks.iter().filter(|asked| began(&asked.told)).count() as u64
    }

    /// Lives as planned.
    pub(super) fn live(&self, plan: LifePlan) -> End {
        let end = self.on_a_thread(false, async {
            let dies_after = plan.dies_after;
            let lives = pin!(self.to_the_end(plan));
            let Some(dies_after) = dies_after else { return lives.await };
            tokio::select! {
                biased;
                end = lives => end,
                () = sleep(dies_after) => {
                    self.fate.note(format_args!("the process dies"));
                    End::Died
                }
            }
        });
        let threads = tokio::runtime::Builder::new_current_thread().build();
        let threads = threads.expect("a runtime without drivers needs no more than memory");
        self.witness.loses(&threads.block_on(self.open_turns()));
        end
    }

    /// The turns that the store has as open, and whether it has that each was dismissed.
    async fn open_turns(&self) -> BTreeMap<TurnId, bool> {
        let mut open = BTreeMap::new();
        for interrupted in self.store.interrupted().await.unwrap_or_default() {
            if let Ok(Some(stored)) = self.store.session(&interrupted.session).await {
                open.extend(stored.open_turn.map(|turn| (turn.turn, turn.is_dismissed)));
            }
        }
        open
    }

    /// Lives once more, and nothing goes wrong: everything comes to rest, and is heard to its end.
    pub(super) fn rest(&self) {
        self.on_a_thread(true, async {
            let Some(life) = self.begin().await else { return };
            for number in 0..self.sessions.len() {
                let Some(person) = Person::open(&life, number).await else { continue };
                person.rest().await;
                person.read_to_the_end().await;
            }
            self.shut_down(&life).await;
        });
    }

    /// Everything of a life happens on this thread; at its end whatever still runs is dropped.
    fn on_a_thread<T>(&self, is_calm: bool, lives: impl Future<Output = T>) -> T {
        let threads = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without a driver for input needs no more than memory");
        #[cfg(feature = "failpoints")]
        self.fate.steer();
        let end = threads.block_on(async {
            self.fate.begin(is_calm);
            let end = lives.await;
            self.fate.end();
            end
        });
        drop(threads);
        #[cfg(feature = "failpoints")]
        madang_actors::failpoint::steer(None);
        end
    }

    async fn to_the_end(&self, plan: LifePlan) -> End {
        let Some(life) = self.begin().await else { return End::Died };
        let mut people = JoinSet::new();
        for (number, visits) in plan.visits.into_iter().enumerate() {
            let life = life.clone();
            people.spawn(async move {
                if let Some(person) = Person::open(&life, number).await {
                    person.live(visits).await;
                }
            });
        }
        let killer = tokio::spawn(life.clone().kill(plan.kills));
        let all = timeout(ENDLESS, async { while people.join_next().await.is_some() {} }).await;
        killer.abort();
        if all.is_err() {
            self.witness.finds(|found| &mut found.stuck, "a life did not end".to_owned());
            return End::Died;
        }
        self.shut_down(&life).await
    }

    /// Starts a runtime on the store, however often it takes.
    async fn begin(&self) -> Option<Arc<Life>> {
        for _ in 0..100 {
            match self.start().await {
                Ok(runtime) => {
                    self.fate.note(format_args!("a life begins"));
                    return Some(Arc::new(Life {
                        runtime,
                        fate: self.fate.clone(),
                        witness: self.witness.clone(),
                        sessions: self.sessions.clone(),
                        mistake: self.mistake,
                    }));
                }
                Err(error) => {
                    self.fate.note(format_args!("no life begins: {error}"));
                    sleep(Duration::from_millis(50)).await;
                }
            }
        }
        self.witness.finds(|found| &mut found.stuck, "no life begins".to_owned());
        None
    }

    async fn start(&self) -> Result<Runtime, BuildError> {
        let mistake = self.mistake;
        let store = SteppedStore::new(self.store.clone(), MistakenSteps::new(mistake));
        let tools = tools::all(&self.fate, &self.witness);
        let clock = PausedClock(self.fate.clone());
        let began = clock.now();
        let model = FickleModel(self.fate.clone());
        Runtime::builder()
            .model(MistakenModel { model, mistake })
            .store(SteppedStore::new(store, Weather(self.fate.clone())))
            .tools(mistaken_tools(tools, mistake))
            .clock(MistakenClock { clock, mistake, began })
            .time_zone("UTC")
            .limits(limits())
            .start()
            .await
    }

    async fn shut_down(&self, life: &Life) -> End {
        if let Err(error) = life.runtime.shutdown().await {
            self.fate.note(format_args!("{error}"));
            return End::Died;
        }
        self.fate.note(format_args!("a life ends"));
        // Actors that were told to end do so a moment later.
        sleep(Duration::from_millis(50)).await;
        let held: Vec<_> =
            Bound::ALL.into_iter().filter(|bound| life.runtime.held(*bound) > 0).collect();
        let tasks = life.runtime.running_tasks();
        if !held.is_empty() || tasks > 0 {
            let what = format!("held after the shutdown: {held:?}, {tasks} tasks");
            self.witness.finds(|found| &mut found.stuck, what);
        }
        End::Orderly
    }
}

impl Life {
    /// Whether people make this mistake.
    pub(super) fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    async fn kill(self: Arc<Self>, kills: Vec<(Duration, Victim)>) {
        for (wait, victim) in kills {
            sleep(wait).await;
            self.fate.note(format_args!("{victim:?} is killed"));
            let tree = self.runtime.actors();
            match victim {
                Victim::Session(number) => {
                    let plan = &self.sessions[number];
                    if let Ok(session) = self.runtime.session(plan.user, &plan.name).await {
                        session.kill();
                    }
                }
                Victim::Confirm => tree.confirm.actor().kill(),
                Victim::Dispatcher => tree.dispatcher.actor().kill(),
                Victim::Store => tree.store_actor.actor().kill(),
                Victim::Llm => tree.llm.actor().kill(),
            }
        }
    }
}

/// Bounds that are met often, and times that pass soon.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.confirmation_timeout = Duration::from_secs(2);
    limits.approval_timeout = Duration::from_secs(1);
    limits.tool_timeout = Duration::from_millis(400);
    limits.completion_timeout = Duration::from_secs(3);
    limits.first_token_timeout = Duration::from_secs(2);
    limits.store_timeout = Duration::from_secs(2);
    limits.ask_timeout = Duration::from_secs(1);
    limits.session_idle = Duration::from_millis(150);
    limits.max_awake_sessions = 4;
    limits.max_feed_events = 24;
    limits.max_restarts = 1_000_000;
    limits
}
