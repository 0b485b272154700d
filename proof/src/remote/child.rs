//! The process that is killed: some chats whose model calls the tools of the driver's server.

use std::{error::Error, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use madang::{
    Runtime,
    event::TurnEnding,
    ledger::{EffectResolution, LedgerFilter, LedgerRow},
    store::{SqliteStore, Store, StoreError},
};
use madang_mcp::{McpConfig, McpServers};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::sleep;

use super::{
    DEADLINE,
    plan::{RemoteModel, SERVER, draw},
};
use crate::{
    audit::DATABASE,
    dice::Dice,
    http::HttpRequest,
    mistakes::{Mistake, RemoteMistake, remote_tools, tools as mistaken_tools},
    oracle::{Began, Line, Oracle, Witness},
    process::{die, say, told},
    workload::{
        Answers, Before, Death, EFFECTS, Fate, Life, LifePlan, Point, Scene, SessionPlan, Visit,
    },
};

/// The driver's orders to its child.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoteOrders {
    /// The folder of the database.
    pub folder: PathBuf,
    /// The number of this process on its file, which no other has.
    pub life: u64,
    /// The seed of its chats.
    pub seed: u64,
    /// The chats at once.
    pub chats: usize,
    /// The address of the server.
    pub server: SocketAddr,
    /// The turns of all chats. With 0 each has one more, and comes to rest.
    pub turns: u64,
    /// The point at which it dies, if any, and the number of that pass.
    pub dies_at: Option<(Point, u64)>,
    /// The mistake that a tool or the store makes.
    pub mistake: Option<Mistake>,
    /// The mistake that the way to the server makes.
    pub remote_mistake: Option<RemoteMistake>,
}

/// The time after which the server is asked again.
const AGAIN: Duration = Duration::from_millis(20);

/// Lives until it is killed, or until all chats are at rest. Reads the oracle of earlier processes from standard input.
///
/// # Errors
/// Any error that no death can excuse.
pub async fn live(orders: RemoteOrders) -> Result<(), Box<dyn Error>> {
    let RemoteOrders { life: number, seed, chats, server, turns, mistake, .. } = orders;
    let dies_at = orders.dies_at.map(|at| Death::at(at, die));
    let entry = json!({
        "url": format!("http://{server}/mcp"), "trust": "annotations",
        "timeout": DEADLINE.as_secs_f64(),
    });
    let config = json!({ "mcpServers": { SERVER: entry } }).to_string();
    let config = McpConfig::parse(&config, orders.folder.join("mcp.json"), &|_| None)?;
    let servers = McpServers::start(&config).await?;
    let scene = Scene {
        sessions: sessions(seed, chats).into(),
        fate: Fate::real(seed ^ (number << 32), dies_at),
        witness: Witness::new(told()?, Arc::new(say)),
        mistake,
        limits: Scene::hurried(),
    };
    let path = orders.folder.join(DATABASE);
    let store = SqliteStore::options(path).migrations("proof", &EFFECTS).open().await?;
    let of_tools: Arc<dyn Store> = Arc::new(store.clone());
    let tools = mistaken_tools(servers.tools(), &of_tools, mistake);
    let tools = remote_tools(tools, orders.remote_mistake);
    let cast = Runtime::builder().model(RemoteModel(scene.fate.clone())).tools(tools);
    let life = scene.begin_with(store, cast).await?;
    if orders.remote_mistake == Some(RemoteMistake::SendsAgain) {
        sends_again(&life.runtime, server).await?;
    }
    let resuming = life.clone();
    let resuming = tokio::spawn(async move { resuming.runtime.resume_open().await });
    let resolving = tokio::spawn(resolves(life.clone(), scene.clone(), server, turns == 0));
    life.visits(visits(&mut Dice::new(seed ^ (number << 20)), number, chats, turns)).await;
    resuming.await?;
    if turns == 0 {
        must_be_answered(&scene.witness.oracle(), chats)?;
        while !life.runtime.ledger(&LedgerFilter::unresolved()).await?.is_empty() {
            sleep(AGAIN).await;
        }
        life.rests().await;
    }
    resolving.abort();
    if !life.shut_down().await {
        return Err("something went on".into());
    }
    servers.close().await;
    Ok(())
}

/// Returns the sessions of a file, the same in each process.
pub(super) fn sessions(seed: u64, chats: usize) -> Vec<SessionPlan> {
    SessionPlan::draw(&mut Dice::new(seed), chats)
}

/// Draws the visits of a life.
fn visits(dice: &mut Dice, life: u64, chats: usize, turns: u64) -> Vec<Vec<Visit>> {
    let mut texts = (0_u64..).map(|number| format!("{life}.{number}"));
    let mut text = |dice: &mut Dice| draw(dice, &texts.next().expect("there is no last number"));
    if turns == 0 {
        let last = |_| vec![Visit { insists: true, ..Visit::of(&text(dice), Answers::Yes) }];
        return (0..chats).map(last).collect();
    }
    let mut visits = LifePlan::turns(dice, life, chats, turns).visits;
    for visit in visits.iter_mut().flatten() {
        (visit.text, visit.pause) = (text(dice), Duration::ZERO);
        // What people do about other tools alone.
        if visit.before != Before::Clears {
            visit.before = Before::Nothing;
        }
    }
    visits
}

/// Requires that the last turn of each chat was answered.
fn must_be_answered(oracle: &Oracle, chats: usize) -> Result<(), &'static str> {
    let is_answered = |began: Option<Began>| matches!(began, Some(Began::Yes(turn)) if oracle.ends.contains(&(turn, TurnEnding::Answered)));
    let last = oracle.asks.iter().rev().take(chats);
    if last.filter(|asked| is_answered(asked.began)).count() == chats {
        Ok(())
    } else {
        Err("a chat does not go on")
    }
}

/// The mistake: sends the calls once more that an earlier process had sent.
async fn sends_again(runtime: &Runtime, server: SocketAddr) -> Result<(), StoreError> {
    for row in runtime.ledger(&LedgerFilter::unresolved()).await? {
        let name = row.name.rsplit("__").next();
        let meta = json!({ "io.madang/call": row.call.to_string() });
        let params = json!({ "name": name, "arguments": row.arguments, "_meta": meta });
        let message = json!({ "id": 0, "method": "tools/call", "params": params });
        // What the server says to it, if anything, is not waited for.
        let request = HttpRequest::new("POST", "/mcp").json(&message);
        drop(tokio::time::timeout(AGAIN, request.send(server)).await);
    }
    Ok(())
}

/// Resolves unknown effects by what the server's book says, now and then or all of them.
async fn resolves(life: Arc<Life>, scene: Scene, server: SocketAddr, all: bool) {
    loop {
        sleep(AGAIN).await;
        let unknown = life.runtime.ledger(&LedgerFilter::unresolved()).await;
        for row in unknown.unwrap_or_default() {
            if all || scene.fate.below(8) == 0 {
                // What cannot be asked or stored now is tried again.
                drop(resolve(&life.runtime, &scene.witness, &row, server).await);
            }
        }
    }
}

async fn resolve(
    runtime: &Runtime,
    witness: &Witness,
    row: &LedgerRow,
    server: SocketAddr,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let call = row.call;
    let looked = HttpRequest::new("GET", &format!("/calls/{call}")).send(server).await?;
    let resolution = match &*looked.body.whole().await? {
        b"true" => EffectResolution::TookEffect,
        b"false" => EffectResolution::DidNot,
        _ => return Ok(()),
    };
    let session = runtime.session(row.user.as_str(), row.session.as_str()).await?;
    witness.note(Line::Resolves { call, resolution });
    // A handler that still runs has the first word.
    session.resolve(call, resolution).await?;
    witness.note(Line::Resolved { call, resolution });
    Ok(())
}
