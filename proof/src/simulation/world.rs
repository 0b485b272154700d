//! Runs the lives of a world: one after another on the same store, each with its own thread and
//! clock.

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use madang::{Limits, SessionId, event::TurnEnding, store::Store as _};
use madang_testing::MemoryStore;
use tokio::time::{sleep, timeout};

use crate::{
    audit::{self, Counter, Findings},
    mistakes::Mistake,
    oracle::{Began, Witness},
    workload::{Fate, Life, LifeEnd, LifePlan, Scene, SessionPlan, memory_rows},
};

/// The state that outlives each life of the runtime.
#[derive(Debug)]
pub(super) struct World {
    pub(super) store: MemoryStore,
    pub(super) scene: Scene,
}

impl World {
    pub(super) fn new(fate: Fate, sessions: Vec<SessionPlan>, mistake: Option<Mistake>) -> Self {
        let sessions = Arc::new(sessions);
        let witness = Witness::default();
        let scene = Scene { sessions, fate, witness, mistake, limits: limits() };
        Self { store: MemoryStore::new(), scene }
    }

    /// Counts the turns that began.
    pub(super) fn turns(&self) -> u64 {
        let oracle = self.scene.witness.oracle();
        oracle.asks.iter().filter(|asked| matches!(asked.began, Some(Began::Yes(_)))).count() as u64
    }

    /// Lives as planned, to a shutdown. False if the process died with all that ran, or a part of
    /// it did not end.
    pub(super) fn live(&self, plan: LifePlan) -> bool {
        self.on_a_thread(false, async {
            let end = plan.end;
            let lives = pin!(self.to_the_end(plan));
            let LifeEnd::Dies(dies_after) = end else { return lives.await };
            tokio::select! {
                biased;
                end = lives => end,
                () = sleep(dies_after) => {
                    self.scene.fate.note(format_args!("the process dies"));
                    false
                }
            }
        })
    }

    /// Lives once more without faults, until everything is at rest and every event was received.
    pub(super) fn rest(&self) {
        self.on_a_thread(true, async {
            let Some(life) = self.begin().await else { return };
            life.rests().await;
            life.shut_down().await;
        });
    }

    /// Audits the store.
    pub(super) fn judge(&self) -> Findings {
        let effects = memory_rows(&self.store.connection());
        let oracle = self.scene.witness.oracle();
        let moment = audit::Moment::AtRest;
        at_once(audit::audit(&self.store, effects, &self.scene.sessions, &oracle, moment))
    }

    /// Counts the turns that were answered, in a world in which nothing goes wrong: each other turn
    /// is a finding.
    pub(super) async fn answered(&self, findings: &mut Findings) -> usize {
        let oracle = self.scene.witness.oracle().clone();
        let mut answered = 0;
        for asked in &oracle.asks {
            let plan = &self.scene.sessions[asked.session];
            let turn = match asked.began {
                Some(Began::Yes(turn)) => turn,
                Some(Began::No | Began::Perhaps) | None => {
                    findings.find(Counter::Lost, format!("{:?} began no turn", asked.text));
                    continue;
                }
            };
            let session = SessionId::new(&*plan.name).expect("a short name");
            let stored = self.store.turn(&session, turn).await;
            let end = stored.ok().flatten().and_then(|stored| stored.end).map(|(_, end)| end);
            match end {
                Some(end) if end.ending == TurnEnding::Answered => answered += 1,
                end => findings.find(
                    Counter::Disturbed,
                    format!("turn {turn}, in which nothing went wrong, ended as {end:?}"),
                ),
            }
        }
        answered
    }

    /// Runs a whole life on this thread; its end drops whatever still runs.
    pub(super) fn on_a_thread<T>(&self, is_calm: bool, lives: impl Future<Output = T>) -> T {
        let threads = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without a driver for input needs no more than memory");
        let fate = &self.scene.fate;
        #[cfg(feature = "failpoints")]
        fate.steer();
        let end = threads.block_on(async {
            fate.begin(is_calm);
            let end = lives.await;
            fate.end();
            end
        });
        drop(threads);
        #[cfg(feature = "failpoints")]
        madang_actors::failpoint::steer(None);
        end
    }

    async fn to_the_end(&self, plan: LifePlan) -> bool {
        let Some(life) = self.begin().await else { return false };
        let killer = tokio::spawn(life.clone().kills(plan.kills));
        // People that still visit go on while the runtime ends.
        let mut visits = pin!(life.visits(plan.visits));
        let has_ended = match plan.end {
            LifeEnd::AtRest | LifeEnd::Dies(_) => visits.await,
            LifeEnd::InOrder(after) => timeout(after, &mut visits).await.unwrap_or(true),
        };
        killer.abort();
        has_ended && life.shut_down().await
    }

    /// Starts a runtime on the store, in as many attempts as it takes.
    pub(super) async fn begin(&self) -> Option<Arc<Life>> {
        for _ in 0..100 {
            match self.scene.begin(self.store.clone()).await {
                Ok(life) => return Some(life),
                Err(error) => {
                    self.scene.fate.note(format_args!("no life begins: {error}"));
                    sleep(Duration::from_millis(50)).await;
                }
            }
        }
        self.scene.witness.finds(Counter::Stuck, "no life begins".to_owned());
        None
    }
}

/// Returns an answer that a store in memory gives at once.
pub(super) fn at_once<T>(future: impl Future<Output = T>) -> T {
    let threads = tokio::runtime::Builder::new_current_thread().build();
    threads.expect("a runtime without drivers needs no more than memory").block_on(future)
}

/// Sets low bounds, which are often reached, and short times.
fn limits() -> Limits {
    Limits {
        decision_timeout: Duration::from_secs(2),
        approval_timeout: Duration::from_secs(1),
        tool_timeout: Duration::from_millis(400),
        completion_timeout: Duration::from_secs(3),
        first_token_timeout: Duration::from_secs(2),
        store_timeout: Duration::from_secs(2),
        ask_timeout: Duration::from_secs(1),
        session_idle: Duration::from_millis(150),
        max_awake_sessions: 4,
        max_feed_events: 24,
        max_restarts: 1_000_000,
        ..Limits::default()
    }
}
