//! The process that is killed: many chats on one file, each saying on standard output what it knows.

use std::{
    error::Error,
    io::{Write as _, stdout},
    path::PathBuf,
    sync::Arc,
};

use madang::store::SqliteStore;
use tokio::task::JoinSet;

use crate::{
    dice::Dice,
    oracle::Line,
    test_runtime::{Act, Bug, Chat, DATABASE, EFFECTS, Points, TestRuntime, TurnPlan},
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
    pub chats: u64,
    /// Turns of each chat. With 0 they only come to rest.
    pub turns: u64,
    /// Where it dies by itself, if anywhere: `POINT:N`.
    pub dies_at: Option<String>,
    /// The mistake that it makes.
    pub bug: Option<Bug>,
}

impl Orders {
    /// As arguments of a program.
    #[must_use]
    pub fn to_arguments(&self) -> Vec<String> {
        let dies_at = self.dies_at.clone().unwrap_or_default();
        let bug = self.bug.map_or("", Bug::name);
        let numbers =
            [self.life, self.seed, self.chats, self.turns].map(|number| number.to_string());
        let [life, seed, chats, turns] = numbers;
        let folder = self.folder.display().to_string();
        vec!["child".to_owned(), folder, life, seed, chats, turns, dies_at, bug.to_owned()]
    }

    /// Reads what [`Orders::to_arguments`] wrote, without the first word.
    #[must_use]
    pub fn read(arguments: &[String]) -> Option<Self> {
        let [folder, life, seed, chats, turns, dies_at, bug] = arguments else { return None };
        Some(Self {
            folder: folder.into(),
            life: life.parse().ok()?,
            seed: seed.parse().ok()?,
            chats: chats.parse().ok()?,
            turns: turns.parse().ok()?,
            dies_at: (!dies_at.is_empty()).then(|| dies_at.clone()),
            bug: Bug::ALL.into_iter().find(|known| known.name() == bug),
        })
    }
}

/// Lives until it is killed, or until all turns have ended.
///
/// # Errors
/// Whatever must not go wrong, whoever is killed.
pub async fn live(orders: Orders) -> Result<(), Box<dyn Error>> {
    let points = match &orders.dies_at {
        Some(point) => Points::read(point).ok_or("no such point")?,
        None => Points::default(),
    };
    let store = SqliteStore::options(orders.folder.join(DATABASE)).migrations("proof", &EFFECTS);
    let say = Arc::new(|line| say(&line));
    let runtime =
        TestRuntime::start(&orders.folder, store.open().await?, points, orders.bug, say).await?;
    let mut chats = JoinSet::new();
    for number in 0..orders.chats {
        chats.spawn(chat(runtime.clone(), orders.clone(), number));
    }
    while let Some(ended) = chats.join_next().await {
        ended??;
    }
    runtime.shutdown().await?;
    Ok(())
}

async fn chat(
    runtime: TestRuntime,
    orders: Orders,
    number: u64,
) -> Result<(), crate::test_runtime::ChatError> {
    let Orders { life, seed, turns, .. } = orders;
    let mut dice = Dice::new(seed ^ (life << 32) ^ number);
    let mut chat = Chat::open(&runtime, number).await?;
    for turn in 0..turns {
        let plan = TurnPlan::draw(&mut dice, &format!("{life}.{number}.{turn}"), &Act::ALL);
        chat.turn(&plan, &mut dice).await?;
    }
    Ok(())
}

/// One write for a line: the driver reads it whole or not at all, whenever this process dies.
fn say(line: &Line) {
    let mut text = serde_json::to_string(line).expect("lines are plain data");
    text.push('\n');
    let mut out = stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).expect("the driver listens");
}
