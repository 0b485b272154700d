//! Runs chats on a recorded disk, cuts the power at many moments, and audits each result.

use std::{path::Path, sync::Arc, time::Duration};

use madang::store::{OpenError, SqliteStore, Store as _};
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use tokio::time::Instant;

use super::{Cut, Disk, Event, Recording, vfs};
use crate::{
    audit::{Counter, DATABASE, Findings, Moment, audit_file},
    dice::Dice,
    oracle::{Line, Oracle, Sink, Witness},
    workload::{EFFECTS, Fate, LifePlan, Scene, SessionPlan},
};

/// The moments at which SQLite waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synced {
    /// At every commit, as the store chooses.
    Full,
    /// Only before the log is moved into the database.
    Normal,
    /// Never.
    Off,
}

/// Chats, and power cuts during their writes.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// The seed of everything but the scheduling of threads.
    pub seed: u64,
    /// The chats at once.
    pub chats: usize,
    /// The turns of each chat.
    pub turns: u64,
    /// The number of cuts.
    pub cuts: usize,
    /// The moments at which SQLite waits for the disk.
    pub synced: Synced,
}

/// The figures of a trial.
#[derive(Debug, Clone, Default)]
pub struct CutFigures {
    /// Power cuts that were made.
    pub cuts: u64,
    /// Effects that were acknowledged before each cut, summed.
    pub acknowledged: usize,
    /// Sectors and other changes that the cuts removed.
    pub dropped: usize,
    /// Cuts after which a runtime started and came to rest.
    pub resumed: u64,
    /// The broken promises.
    pub findings: Findings,
}

/// The pages of the log: few, so that SQLite moves them into the database many times in a trial.
const LOG_PAGES: &str = "64";

/// Longer than a lock is held.
const PATIENCE: Duration = Duration::from_secs(60);

/// After one of this many cuts a runtime starts.
const RESUMED: u64 = 8;

impl Trial {
    /// Records chats and cuts the power.
    pub async fn run(&self, mut progress: impl FnMut(&CutFigures)) -> CutFigures {
        let events = self.record().await;
        let mut dice = Dice::new(self.seed);
        let mut moments = self.moments(&events, &mut dice);
        moments.sort_unstable();
        let mut disk = Disk::default();
        let mut oracle = Oracle::default();
        let mut done = 0;
        let mut figures = CutFigures::default();
        for moment in moments {
            for event in &events[done..moment] {
                disk.take(event);
                if let Event::Said(line) = event {
                    oracle.note(line.clone());
                }
            }
            done = moment;
            let folder = tempfile::tempdir().expect("there is a place for temporary files");
            let cut = *dice.pick(&[Cut::Drops, Cut::Tears, Cut::Reorders]);
            let lost = disk.cut(cut, &mut dice, folder.path());
            figures.dropped += lost.expect("temporary files can be written");
            figures.acknowledged += oracle.acknowledged();
            let resumes = dice.once_in(RESUMED);
            let findings = &mut figures.findings;
            if let Err(error) = self.after_cut(folder.path(), &oracle, resumes, findings).await {
                findings.find(Counter::Damaged, error);
            }
            figures.resumed += u64::from(resumes);
            figures.cuts += 1;
            progress(&figures);
        }
        figures
    }

    /// Serves chats to their end on a recorded disk.
    async fn record(&self) -> Vec<Event> {
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        // The path as SQLite will name it.
        let path = folder.path().canonicalize().expect("a folder that was just made");
        let recording = Recording::of(&path);
        let notes = recording.clone();
        let sink: Sink = Arc::new(move |line| notes.note(Event::Said(line.clone())));
        let store = SqliteStore::open(path.join(DATABASE)).migrations("proof", &EFFECTS);
        let store = store.writer(self.synced.options()).await;
        let store = store.expect("a new database can be made");
        let life = self.scene(Oracle::default(), sink).begin(store).await;
        let life = life.expect("a runtime starts");
        let turns = self.turns * self.chats as u64;
        life.visits(LifePlan::turns(&mut Dice::new(self.seed), 1, self.chats, turns).visits).await;
        assert!(life.shut_down().await, "nothing goes on");
        recording.take()
    }

    fn scene(&self, known: Oracle, sink: Sink) -> Scene {
        let fate = Fate::real(self.seed, None);
        let witness = Witness::new(known, sink);
        Scene::hurried(self.sessions(), fate, witness)
    }

    fn sessions(&self) -> Vec<SessionPlan> {
        SessionPlan::draw(&mut Dice::new(self.seed), self.chats)
    }

    /// Chooses the moments: half of them right after a line of the oracle.
    fn moments(&self, events: &[Event], dice: &mut Dice) -> Vec<usize> {
        let is_ready = |event: &Event| matches!(event, Event::Said(Line::Ready));
        let begin = events.iter().position(is_ready).expect("the runtime was started");
        let heard: Vec<usize> = (begin..events.len())
            .filter(|at| {
                matches!(&events[*at], Event::Said(Line::Heard { .. } | Line::Ended { .. }))
            })
            .map(|at| at + 1)
            .collect();
        let any = |dice: &mut Dice| begin + dice.index(events.len() - begin + 1);
        (0..self.cuts)
            .map(|number| if number % 2 == 0 { *dice.pick(&heard) } else { any(dice) })
            .collect()
    }

    /// Opens and audits a disk after a cut, as any process would. Then a runtime may start on it,
    /// which brings every chat to rest.
    async fn after_cut(
        &self,
        folder: &Path,
        oracle: &Oracle,
        resumes: bool,
        findings: &mut Findings,
    ) -> Result<(), String> {
        let sessions = self.sessions();
        open(folder).await?.close().await;
        findings.add(audit_file(folder, &sessions, oracle, Moment::AfterDeath).await);
        if resumes {
            // Later answers are lines of the oracle too.
            let scene = self.scene(oracle.clone(), Arc::new(|_| ()));
            let begun = scene.begin(open(folder).await?).await;
            let life =
                begun.map_err(|error| format!("no runtime starts on the database: {error}"))?;
            life.ends_within(PATIENCE).await;
            let oracle = scene.witness.oracle().clone();
            findings.add(audit_file(folder, &sessions, &oracle, Moment::AtRest).await);
        }
        Ok(())
    }
}

impl Synced {
    fn options(self) -> fn(SqliteConnectOptions) -> SqliteConnectOptions {
        match self {
            // The store's own choice, which is on trial.
            Self::Full => recorded,
            Self::Normal => |options| recorded(options).synchronous(SqliteSynchronous::Normal),
            Self::Off => |options| recorded(options).synchronous(SqliteSynchronous::Off),
        }
    }
}

fn recorded(options: SqliteConnectOptions) -> SqliteConnectOptions {
    options.vfs(vfs::NAME).pragma("wal_autocheckpoint", LOG_PAGES)
}

/// Opens a database. A process that starts at the same time may still hold the lock of the store
/// before, until it runs another program.
async fn open(folder: &Path) -> Result<SqliteStore, String> {
    let begin = Instant::now();
    loop {
        let store = SqliteStore::open(folder.join(DATABASE)).migrations("proof", &EFFECTS);
        match store.await {
            Err(OpenError::Held { .. }) if begin.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            opened => {
                return opened.map_err(|error| format!("the database does not open: {error}"));
            }
        }
    }
}
