//! One run: a runtime with its sessions, all driven at once, some of its actors killed on the way.

use std::{
    collections::HashMap,
    ops::RangeInclusive,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use fastrand::Rng;
use indicatif::ProgressBar;
use madang::{
    Builder, Limits, Runtime, Session, error::SessionError, store::SqliteStore, tool::Tool,
};
use madang_testing::{MemoryStore, RuntimeHooks as _};
use madang_toolkits::life;
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};

use super::{
    audit::Oracles,
    chat::chat,
    plan::Odds,
    snapshot::Snapshot,
    world::{Bug, EFFECTS, World, booked},
};
use crate::failure::Failure;

/// How a run is driven.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) sessions: usize,
    pub(crate) turns: usize,
    pub(crate) odds: Odds,
    pub(crate) seed: u64,
    pub(crate) in_flight: usize,
    pub(crate) bug: Option<Bug>,
    pub(crate) place: Place,
}

/// Where the chats are kept.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Memory,
    /// In a database that is not there yet.
    File(PathBuf),
}

/// What the model of a run is, and what it is told.
#[derive(Debug)]
pub(crate) enum Talk {
    /// It follows the plan in the text.
    Planned,
    /// It answers these texts.
    Free(&'static [&'static str]),
}

/// What answers in a run, and which tools it can call.
pub(crate) struct Cast {
    pub(crate) builder: Builder,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) talk: Talk,
}

/// A run on its way.
pub(crate) struct Run {
    pub(crate) runtime: Runtime,
    pub(crate) seed: u64,
    pub(crate) turns: usize,
    pub(crate) odds: Odds,
    pub(crate) bug: Option<Bug>,
    pub(crate) talk: Talk,
    pub(crate) in_flight: Semaphore,
    pub(crate) progress: ProgressBar,
    begun: AtomicUsize,
    kills: HashMap<usize, Shared>,
    killed: Mutex<Vec<RangeInclusive<Instant>>>,
}

/// An actor that all chats share.
#[derive(Debug, Clone, Copy)]
enum Shared {
    Dispatcher,
    Confirm,
    Llm,
    Store,
}

/// Once so many turns are begun, on average, a shared actor is killed, at a hundred percent of chaos.
const TURNS_FOR_A_KILL: usize = 50;

/// Kills in a run: each takes the turns with it that need the actor just then, and a model is started anew later each time.
const MAX_KILLS: usize = 12;

impl Run {
    /// Opens the session of this number. Eight share a user.
    pub(crate) async fn session(&self, number: usize) -> Result<Session, SessionError> {
        self.runtime.session(&format!("user {}", number / 8), &format!("chat {number}")).await
    }

    /// Counts the turns, and kills where the plan says so.
    pub(crate) fn begins_turn(self: &Arc<Self>) {
        let number = self.begun.fetch_add(1, Relaxed);
        let Some(shared) = self.kills.get(&number) else { return };
        let (run, tree) = (self.clone(), self.runtime.actors().clone());
        let shared = *shared;
        drop(tokio::spawn(async move {
            let began = Instant::now();
            match shared {
                Shared::Dispatcher => tree.dispatcher.kill().await,
                Shared::Confirm => tree.confirm.kill().await,
                Shared::Llm => tree.llm.kill().await,
                Shared::Store => tree.store_actor.kill().await,
            }
            let killed = began..=Instant::now();
            run.killed.lock().expect("no code under this lock panics").push(killed);
        }));
    }
}

fn kills(wanted: &Wanted) -> HashMap<usize, Shared> {
    let turns = wanted.sessions * wanted.turns;
    let chaos = usize::from(wanted.odds.chaos);
    let count = (turns * chaos / 100 / TURNS_FOR_A_KILL).min(MAX_KILLS);
    let mut rng = Rng::with_seed(wanted.seed);
    let actors = [Shared::Dispatcher, Shared::Confirm, Shared::Llm, Shared::Store];
    (0..count).map(|kill| (rng.usize(..turns), actors[kill % actors.len()])).collect()
}

/// The bounds of a run: as many turns as it drives at once must find their place, and its kills are no sign that an
/// actor cannot live.
fn limits(wanted: &Wanted) -> Limits {
    let mut limits = Limits::default();
    let (turns, calls) = (wanted.in_flight, wanted.in_flight * wanted.odds.tools.max(1));
    limits.max_awake_sessions = limits.max_awake_sessions.max(wanted.sessions);
    limits.max_running_turns = limits.max_running_turns.max(turns);
    limits.max_running_calls = limits.max_running_calls.max(calls);
    limits.max_approval_requests = limits.max_approval_requests.max(calls);
    limits.max_waiting_completions = limits.max_waiting_completions.max(turns);
    limits.max_restarts = usize::MAX;
    limits
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) oracles: Oracles,
    pub(crate) snapshot: Snapshot,
    pub(crate) took: Duration,
}

/// Drives a run to its end, and reads what it left behind.
pub(crate) async fn run(
    wanted: &Wanted,
    world: &Arc<World>,
    cast: Cast,
    progress: ProgressBar,
) -> Result<Ran, Failure> {
    let tools = cast.tools.into_iter().map(|tool| booked(tool, world, wanted.bug));
    let builder = cast.builder.tools(tools).limits(limits(wanted));
    let memory = MemoryStore::new();
    let builder = match &wanted.place {
        Place::Memory => builder.store(memory.clone()),
        Place::File(path) => builder.store(
            SqliteStore::open(path, [&*EFFECTS, &*life::MIGRATIONS]).await.map_err(Failure::of)?,
        ),
    };
    let runtime = builder.start().await.map_err(Failure::of)?;
    let run = Arc::new(Run {
        runtime: runtime.clone(),
        seed: wanted.seed,
        turns: wanted.turns,
        odds: wanted.odds,
        bug: wanted.bug,
        talk: cast.talk,
        in_flight: Semaphore::new(wanted.in_flight),
        progress,
        begun: AtomicUsize::new(0),
        kills: kills(wanted),
        killed: Mutex::default(),
    });
    let began = Instant::now();
    let chats =
        (0..wanted.sessions).map(|number| chat(run.clone(), number)).collect::<JoinSet<_>>();
    let chats = chats.join_all().await;
    let took = began.elapsed();
    runtime.shutdown().await.map_err(Failure::of)?;
    let kills = run.killed.lock().expect("no code under this lock panics").clone();
    let oracles = Oracles { chats, handled: world.take(), kills, turns: wanted.turns };
    let snapshot = match &wanted.place {
        Place::Memory => Snapshot::of_memory(&memory).await,
        Place::File(path) => Snapshot::of_file(path).await,
    };
    Ok(Ran { oracles, snapshot: snapshot?, took })
}
