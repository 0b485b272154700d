//! The process that is killed: many chats on one file, each reporting on standard output what it knows.

use std::{error::Error, path::PathBuf, sync::Arc};

use madang::store::SqliteStore;
use serde::{Deserialize, Serialize};

use crate::{
    audit::DATABASE,
    dice::Dice,
    mistakes::Mistake,
    oracle::Witness,
    process::{die, say, told},
    workload::{Death, EFFECTS, Fate, LifePlan, Point, Scene, SessionPlan},
};

/// The driver's orders to its child.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
    /// The point at which it dies, if any, and the number of that pass.
    pub dies_at: Option<(Point, u64)>,
    /// The mistake that it makes.
    pub mistake: Option<Mistake>,
}

/// Lives until it is killed or all turns have ended. Reads the oracle of earlier processes from standard input.
///
/// # Errors
/// Any error that no death can excuse.
pub async fn live(orders: Orders) -> Result<(), Box<dyn Error>> {
    let store = SqliteStore::options(orders.folder.join(DATABASE)).migrations("proof", &EFFECTS);
    let seed = orders.seed ^ (orders.life << 32);
    let scene = Scene {
        sessions: sessions(orders.seed, orders.chats).into(),
        fate: Fate::real(seed, orders.dies_at.map(|at| Death::at(at, die))),
        witness: Witness::new(told()?, Arc::new(say)),
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

/// Returns the sessions of a file, the same in each process.
pub(super) fn sessions(seed: u64, chats: usize) -> Vec<SessionPlan> {
    SessionPlan::draw(&mut Dice::new(seed), chats)
}
