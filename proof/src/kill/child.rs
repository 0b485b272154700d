//! The process that is killed: many chats on one database, each reporting on standard output what it
//! knows.

use std::{error::Error, path::PathBuf, sync::Arc};

use madang::store::{SqliteStore, Store};
use serde::{Deserialize, Serialize};

use crate::{
    audit::DATABASE,
    dice::Dice,
    mistakes::Mistake,
    oracle::Witness,
    postgres,
    process::{die, say, told},
    remote::{Far, FarOrders},
    workload::{Death, EFFECTS, Fate, LifePlan, Point, Scene, SessionPlan},
};

/// The driver's orders to its child.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Orders {
    /// The folder of the database.
    pub folder: PathBuf,
    /// The URL of the database, where it is on a PostgreSQL server.
    pub url: Option<String>,
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
    /// The way to the tools of its model, where they are remote.
    pub remote: Option<FarOrders>,
}

/// Lives until it is killed or all turns have ended. Reads the oracle of earlier processes from
/// standard input.
///
/// # Errors
/// Any error that no death can excuse.
pub async fn live(orders: Orders) -> Result<(), Box<dyn Error>> {
    if let Some(url) = &orders.url {
        return live_on(postgres::open(url).await?, &orders).await;
    }
    let store = SqliteStore::open(orders.folder.join(DATABASE)).migrations("proof", &EFFECTS);
    live_on(store.await?, &orders).await
}

async fn live_on(store: impl Store + Clone, orders: &Orders) -> Result<(), Box<dyn Error>> {
    let seed = orders.seed ^ (orders.life << 32);
    let fate = Fate::real(seed, orders.dies_at.map(|at| Death::at(at, die)));
    let witness = Witness::new(told()?, Arc::new(say));
    let mut scene = Scene::hurried(sessions(orders.seed, orders.chats), fate, witness);
    scene.mistake = orders.mistake;
    let mut dice = Dice::new(seed);
    let plan = LifePlan::turns(&mut dice, orders.life, orders.chats, orders.turns);
    let far = match orders.remote {
        Some(remote) => Some(Far::start(remote, &orders.folder).await?),
        None => None,
    };
    let life = match &far {
        Some(far) => scene.begin_with(store.clone(), far.cast(&scene, &store)).await?,
        None => scene.begin(store).await?,
    };
    if let Some(far) = &far {
        far.visits(&life, &scene, plan, &mut dice, orders.life).await?;
    } else if orders.turns > 0 {
        life.visits(plan.visits).await;
    }
    if orders.turns == 0 {
        life.rests().await;
    }
    if !life.shut_down().await {
        return Err("something went on".into());
    }
    if let Some(far) = far {
        far.close().await;
    }
    Ok(())
}

/// Returns the sessions of a file, the same in each process.
pub(super) fn sessions(seed: u64, chats: usize) -> Vec<SessionPlan> {
    SessionPlan::draw(&mut Dice::new(seed), chats)
}
