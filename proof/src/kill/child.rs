//! The process that is killed: many chats on one file, each saying on standard output what it knows.

use std::{
    error::Error,
    io::{Write as _, stdin, stdout},
    path::PathBuf,
    sync::Arc,
};

use madang::store::SqliteStore;

use crate::{
    audit::DATABASE,
    dice::Dice,
    mistakes::Mistake,
    oracle::{Line, Oracle, Witness},
    workload::{Death, EFFECTS, Fate, LifePlan, Scene, SessionPlan},
};

/// What the driver tells its child.
#[derive(Debug, Clone)]
pub struct Orders {
    /// Where the database lies.
    pub folder: PathBuf,
    /// Which of its processes this is: no two of one file have the same number.
    pub life: u64,
    /// What its chats are drawn from.
    pub seed: u64,
    /// Chats at once.
    pub chats: usize,
    /// Turns of all chats. With 0 they only come to rest.
    pub turns: u64,
    /// Where it dies by itself, if anywhere: `POINT:N`.
    pub dies_at: Option<String>,
    /// The mistake that it makes.
    pub mistake: Option<Mistake>,
}

impl Orders {
    /// As arguments of a program.
    #[must_use]
    pub fn to_arguments(&self) -> Vec<String> {
        let dies_at = self.dies_at.clone().unwrap_or_default();
        let mistake = self.mistake.map_or("", Mistake::name).to_owned();
        let [life, seed, turns] = [self.life, self.seed, self.turns].map(|n| n.to_string());
        let (folder, chats) = (self.folder.display().to_string(), self.chats.to_string());
        vec!["child".to_owned(), folder, life, seed, chats, turns, dies_at, mistake]
    }

    /// Reads what [`Orders::to_arguments`] wrote, without the first word.
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

/// Lives until it is killed, or until all turns have ended. What its people know is read from standard input.
///
/// # Errors
/// Whatever must not go wrong, whoever is killed.
pub async fn live(orders: Orders) -> Result<(), Box<dyn Error>> {
    let dies_at = match &orders.dies_at {
        Some(point) => Some(Death::read(point).ok_or("no such point")?),
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

/// Who chats on a file: the same in each process.
pub(super) fn sessions(seed: u64, chats: usize) -> Vec<SessionPlan> {
    SessionPlan::draw(&mut Dice::new(seed), chats)
}

/// One write for a line: the driver reads it whole or not at all, whenever this process dies.
fn say(line: &Line) {
    let mut text = serde_json::to_string(line).expect("lines are plain data");
    text.push('\n');
    let mut out = stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).expect("the driver listens");
}
