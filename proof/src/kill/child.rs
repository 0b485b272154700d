//! The process that is killed: many chats on one file, each reporting on standard output what it knows.

use std::{
    error::Error,
    io::{Write as _, stdin, stdout},
    path::PathBuf,
    sync::Arc,
};

use madang::store::SqliteStore;
use rustix::process::{Signal, getpid, kill_process};
use serde::Serialize;

use crate::{
    audit::DATABASE,
    dice::Dice,
    mistakes::Mistake,
    oracle::{Oracle, Witness},
    workload::{Death, EFFECTS, Fate, LifePlan, Scene, SessionPlan},
};

/// The driver's orders to its child.
#[derive(Debug, Clone)]
pub struct Orders {
    /// The folder of the database.
    pub folder: PathBuf,
    /// The number of this process on its file, which no other has.
    pub life: u64,
    /// The seed of its chats.
    pub seed: u64,
    /// The chats at once.
    pub chats: usize,
    /// The turns of all chats. With 0 they only come to rest.
    pub turns: u64,
    /// The point at which it dies, if any: `POINT:N`.
    pub dies_at: Option<String>,
    /// The mistake that it makes.
    pub mistake: Option<Mistake>,
}

impl Orders {
    /// Writes the orders as arguments of a program.
    #[must_use]
    pub fn to_arguments(&self) -> Vec<String> {
        let dies_at = self.dies_at.clone().unwrap_or_default();
        let mistake = self.mistake.map_or("", Mistake::name).to_owned();
        let [life, seed, turns] = [self.life, self.seed, self.turns].map(|n| n.to_string());
        let (folder, chats) = (self.folder.display().to_string(), self.chats.to_string());
        vec!["child".to_owned(), folder, life, seed, chats, turns, dies_at, mistake]
    }

    /// Reads the arguments of [`Orders::to_arguments`], without the first word.
    #[must_use]
    pub fn read(arguments: &[String]) -> Option<Self> {
        let [folder, life, seed, chats, turns, dies_at, mistake] = arguments else { return None };
        Some(Self {
            folder: folder.into(),
            life: life.parse().ok()?,
            seed: seed.parse().ok()?,
            chats: chats.parse().ok()?,
            turns: turns.parse().ok()?,
            dies_at: (!dies_at.is_empty()).then(|| dies_at.clone()),
            mistake: Mistake::named(mistake),
        })
    }
}

/// Lives until it is killed or all turns have ended. Reads the oracle of earlier processes from standard input.
///
/// # Errors
/// Any error that no death can excuse.
pub async fn live(orders: Orders) -> Result<(), Box<dyn Error>> {
    let dies_at = match &orders.dies_at {
        Some(point) => Some(Death::read(point, die).ok_or("no such point")?),
        None => None,
    };
    let mut known = Oracle::default();
    for line in stdin().lines() {
        known.note(serde_json::from_str(&line?)?);
    }
    let store = SqliteStore::options(orders.folder.join(DATABASE)).migrations("proof", &EFFECTS);
    let seed = orders.seed ^ (orders.life << 32);
    let scene = Scene {
        sessions: sessions(orders.seed, orders.chats).into(),
        fate: Fate::real(seed, dies_at),
        witness: Witness::new(known, Arc::new(say)),
        mistake: orders.mistake,
        limits: Scene::hurried(),
    };
    let life = scene.begin(store.open().await?).await?;
    if orders.turns > 0 {
        let mut dice = Dice::new(seed);
        life.visits(LifePlan::turns(&mut dice, orders.life, orders.chats, orders.turns).visits)
            .await;
    } else {
        life.rests().await;
    }
    if life.shut_down().await { Ok(()) } else { Err("something went on".into()) }
}

/// Dies in the way in which the driver kills, so that nothing is flushed, closed or unwound.
pub(crate) fn die() {
    kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
    // The signal may find another thread first; this one goes no further.
    loop {
        std::thread::park();
    }
}

/// Returns the sessions of a file, the same in each process.
pub(super) fn sessions(seed: u64, chats: usize) -> Vec<SessionPlan> {
    SessionPlan::draw(&mut Dice::new(seed), chats)
}

/// Writes a line at once: the driver reads all or nothing of it, whenever this process dies.
pub(crate) fn say<T: Serialize>(line: &T) {
    let mut text = serde_json::to_string(line).expect("lines are plain data");
    text.push('\n');
    let mut out = stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).expect("the driver listens");
}
