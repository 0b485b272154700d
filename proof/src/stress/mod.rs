//! Stress: many sessions on one runtime, as fast as the machine is, with many faults.
//!
//! The faults of each turn are planned before anything runs (`plan`), so that a seed has them in
//! the same places. Tools panic, fail, dawdle and keep the transaction, and models fail and panic.
//! People submit twice, answer twice and leave, and sessions are killed. Now and then an actor dies
//! that all sessions share. Afterwards every person comes back, the audit compares, and `figures`
//! counts.
//!
//! Invariants:
//! - A turn without a fault ends as planned, whatever befalls the others. Only a turn beside the
//!   kill of a shared actor may end otherwise, and is counted as cut.
//! - With a real model the texts are fixed, and only the audit judges.

mod figures;
mod options;
mod plan;

use std::{
    error::Error,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use madang::{
    Builder, Limits,
    store::{SqliteStore, Store},
};
use madang_testing::MemoryStore;
use sqlx::migrate::Migrator;
use tokio::{sync::watch, time::Instant};

#[cfg(feature = "sqlite")]
use crate::postgres::{Database, audit_database, open};
use crate::{
    audit::{DATABASE, Moment, audit, audit_file},
    oracle::{Began, Line, Oracle, Witness},
    workload::{EFFECTS, Fate, Life, Scene, SessionPlan, memory_rows},
};
use plan::Expected;

pub use figures::StressFigures;
pub use options::Stress;

/// A model that answers freely, instead of the one that follows the plans of the seed.
#[derive(Debug)]
pub struct Talk {
    /// The model and its tools.
    pub cast: Builder,
    /// The tables of the tools, and their name.
    pub tables: (&'static str, &'static Migrator),
    /// The texts of the people.
    pub texts: &'static [&'static str],
}

/// The begins and ends of turns.
#[derive(Default)]
struct Times {
    /// The turns of each session.
    turns: Vec<Vec<(Instant, Option<Instant>)>>,
    ended: u64,
    refused: u64,
}

/// The time without an actor that all sessions share; without an end if none followed it.
type Gone = (Instant, Option<Instant>);

/// The remains of a run.
struct Ran {
    oracle: Oracle,
    sessions: Arc<Vec<SessionPlan>>,
    expected: Vec<Vec<Expected>>,
    times: Times,
    kills: Vec<Gone>,
    took: Duration,
}

/// The time in which all sessions come to rest, and the time for each of them.
const PATIENCE: Duration = Duration::from_secs(30);
const A_SESSION: Duration = Duration::from_millis(10);

impl Stress {
    /// Runs in memory, and calls `tell` with the number of ended turns at each end.
    ///
    /// # Errors
    /// Every error that keeps a runtime from starting.
    pub async fn in_memory(
        &self,
        tell: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<StressFigures, Box<dyn Error + Send + Sync>> {
        let store = MemoryStore::new();
        let ran = self.drive(store.clone(), None, tell).await?;
        let effects = memory_rows(&store.connection());
        let found = audit(&store, effects, &ran.sessions, &ran.oracle, Moment::AtRest).await;
        Ok(ran.figures(found))
    }

    /// Runs on a new database in this folder, and calls `tell` with the number of ended turns at
    /// each end.
    ///
    /// # Errors
    /// Every error that keeps a database from being made or a runtime from starting.
    pub async fn in_file(
        &self,
        folder: &Path,
        talk: Option<Talk>,
        tell: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<StressFigures, Box<dyn Error + Send + Sync>> {
        let mut store = SqliteStore::open(folder.join(DATABASE)).migrations("proof", &EFFECTS);
        if let Some(Talk { tables: (name, tables), .. }) = talk {
            store = store.migrations(name, tables);
        }
        let ran = self.drive(store.await?, talk, tell).await?;
        let found = audit_file(folder, &ran.sessions, &ran.oracle, Moment::AtRest).await;
        Ok(ran.figures(found))
    }

    /// Runs on a new database of the PostgreSQL server at this URL, and calls `tell` with the number
    /// of ended turns at each end.
    ///
    /// # Errors
    /// Every error that keeps a database from being made or a runtime from starting.
    #[cfg(feature = "sqlite")]
    pub async fn in_database(
        &self,
        server: &str,
        tell: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<StressFigures, Box<dyn Error + Send + Sync>> {
        let database = Database::make(server).await?;
        let url = database.url();
        let store = open(&url).await?;
        let ran = self.drive(store.clone(), None, tell).await?;
        store.close().await;
        let found = audit_database(&url, &ran.sessions, &ran.oracle, Moment::AtRest).await;
        database.remove().await?;
        Ok(ran.figures(found))
    }

    async fn drive<S: Store + Clone>(
        &self,
        store: S,
        talk: Option<Talk>,
        tell: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<Ran, Box<dyn Error + Send + Sync>> {
        let visits = self.visits(talk.as_ref().map(|talk| talk.texts));
        let expected = visits.iter().map(|visits| visits.iter().map(Expected::of).collect());
        let expected = expected.collect();
        let times = Times { turns: vec![Vec::new(); self.sessions], ..Times::default() };
        let (times, (begins, begun)) = (Arc::new(Mutex::new(times)), watch::channel(0));
        let hears = times.clone();
        let sink = move |line: &Line| {
            let mut times = hears.lock().expect("no code under this lock panics");
            if times.hears(line) {
                tell(times.ended);
            }
            if matches!(line, Line::Asks(_)) {
                begins.send_modify(|begun| *begun += 1);
            }
        };
        let user = |number| format!("user {}", number / 8);
        let session = |number| SessionPlan { user: user(number), name: format!("chat {number}") };
        let scene = Scene {
            sessions: Arc::new((0..self.sessions).map(session).collect()),
            fate: Fate::real(self.seed, None),
            witness: Witness::new(Oracle::default(), Arc::new(sink)),
            mistake: self.mistake,
            limits: self.limits(),
        };
        let cast = match talk {
            None => scene.cast(&store, usize::MAX),
            Some(talk) => talk.cast,
        };
        let life = scene.begin_with(store, cast).await?;
        let mut kills = Vec::new();
        let began = Instant::now();
        tokio::select! {
            _ = life.visits_at_once(visits, self.in_flight) => {}
            () = self.kill(&life, begun, &mut kills) => {}
        }
        let took = began.elapsed();
        let patience = PATIENCE + A_SESSION * u32::try_from(self.sessions)?;
        life.ends_within(patience).await;
        let oracle = std::mem::take(&mut *scene.witness.oracle());
        let times = std::mem::take(&mut *times.lock().expect("no code under this lock panics"));
        Ok(Ran { oracle, sessions: scene.sessions, expected, times, kills, took })
    }

    /// Kills actors that all sessions share, each after a planned number of turns has begun. Never
    /// ends.
    async fn kill(&self, life: &Life, mut begun: watch::Receiver<usize>, killed: &mut Vec<Gone>) {
        for (turn, victim) in self.kills() {
            // Without a sender there are no more turns.
            if begun.wait_for(|begun| *begun > turn).await.is_err() {
                break;
            }
            killed.push((Instant::now(), None));
            life.kill(victim).await;
            if let Some((_, to)) = killed.last_mut() {
                *to = Some(Instant::now());
            }
        }
        std::future::pending().await
    }

    /// Returns limits with room for all turns at once. Kills are no sign that an actor cannot live.
    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        let turns = self.in_flight;
        let calls = self.in_flight * self.tools.max(1);
        limits.max_awake_sessions = limits.max_awake_sessions.max(self.sessions);
        limits.max_running_turns = limits.max_running_turns.max(turns);
        limits.max_running_calls = limits.max_running_calls.max(calls);
        limits.max_approval_requests = limits.max_approval_requests.max(calls);
        limits.max_waiting_completions = limits.max_waiting_completions.max(turns);
        limits.max_restarts = usize::MAX;
        limits
    }
}

impl Times {
    /// Notes the moment of a line, and tells whether a turn has ended by it.
    fn hears(&mut self, line: &Line) -> bool {
        if let Line::Asks(asked) = line {
            self.turns[asked.session].push((Instant::now(), None));
        } else if let Line::Asked { began: Began::No, .. } = line {
            self.refused += 1;
        } else if let Line::Ended { session, .. } = line
            && let Some((_, ended @ None)) = self.turns[*session].last_mut()
        {
            *ended = Some(Instant::now());
            self.ended += 1;
            return true;
        }
        false
    }
}
