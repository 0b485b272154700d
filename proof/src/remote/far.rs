//! A child's way to the driver's server, and what its people do about the tools there.

use std::{error::Error, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use madang::{
    Builder, Runtime,
    event::TurnEnding,
    ledger::{EffectResolution, LedgerFilter, LedgerRow},
    store::{Store, StoreError},
};
use madang_mcp::{McpConfig, McpServers};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::sleep;

use super::{
    DEADLINE,
    plan::{SERVER, draw, follow},
};
use crate::{
    dice::Dice,
    http::HttpRequest,
    mistakes::{RemoteMistake, remote_tools, tools as mistaken_tools},
    oracle::{Began, Line, Oracle, Witness},
    workload::{Answers, Before, Life, LifePlan, Scene, Visit},
};

/// The driver's orders about the way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct FarOrders {
    /// The address of the server.
    pub server: SocketAddr,
    /// The mistake that the way makes.
    pub mistake: Option<RemoteMistake>,
}

/// Completions at once: fewer than chats, so that some wait.
const COMPLETIONS: usize = 4;

/// The time after which the server is asked again.
const AGAIN: Duration = Duration::from_millis(20);

/// The way to the server, as a client of MCP has it.
#[derive(Debug)]
pub(crate) struct Far {
    servers: McpServers,
    orders: FarOrders,
}

impl Far {
    pub(crate) async fn start(orders: FarOrders, folder: &Path) -> Result<Self, Box<dyn Error>> {
        let entry = json!({
            "url": format!("http://{}/mcp", orders.server), "trust": "annotations",
            "timeout": DEADLINE.as_secs_f64(),
        });
        let config = json!({ "mcpServers": { SERVER: entry } }).to_string();
        let config = McpConfig::parse(&config, folder.join("mcp.json"), &|_| None)?;
        Ok(Self { servers: McpServers::start(&config).await?, orders })
    }

    /// Builds the model, and the server's tools.
    pub(crate) fn cast(&self, scene: &Scene, store: &(impl Store + Clone)) -> Builder {
        let of_tools: Arc<dyn Store> = Arc::new(store.clone());
        let tools = mistaken_tools(self.servers.tools(), &of_tools, scene.mistake);
        let tools = remote_tools(tools, self.orders.mistake);
        Runtime::builder().model(scene.model(COMPLETIONS, follow)).tools(tools)
    }

    /// Lets people make their visits with texts about these tools. Without a plan each makes one,
    /// and what is unknown is resolved.
    pub(crate) async fn visits(
        &self,
        life: &Arc<Life>,
        scene: &Scene,
        plan: LifePlan,
        dice: &mut Dice,
        number: u64,
    ) -> Result<(), Box<dyn Error>> {
        let server = self.orders.server;
        if self.orders.mistake == Some(RemoteMistake::SendsAgain) {
            sends_again(&life.runtime, server).await?;
        }
        let mut visits = plan.visits;
        let is_last = visits.iter().all(Vec::is_empty);
        if is_last {
            let visit = Visit { insists: true, ..Visit::of("", Answers::Yes) };
            visits.iter_mut().for_each(|visits| visits.push(visit.clone()));
        }
        for (nth, visit) in visits.iter_mut().flatten().enumerate() {
            (visit.text, visit.pause) = (draw(dice, &format!("{number}.{nth}")), Duration::ZERO);
            // What people do about other tools alone.
            if visit.before != Before::Clears {
                visit.before = Before::Nothing;
            }
        }
        let resuming = life.clone();
        let resuming = tokio::spawn(async move { resuming.runtime.resume_open().await });
        let resolving = tokio::spawn(resolves(life.clone(), scene.clone(), server, is_last));
        let chats = visits.len();
        life.visits(visits).await;
        resuming.await?;
        if is_last {
            must_be_answered(&scene.witness.oracle(), chats)?;
            while !life.runtime.ledger(&LedgerFilter::unresolved()).await?.is_empty() {
                sleep(AGAIN).await;
            }
        }
        resolving.abort();
        Ok(())
    }

    pub(crate) async fn close(self) {
        self.servers.close().await;
    }
}

/// Requires that the last turn of each chat was answered.
fn must_be_answered(oracle: &Oracle, chats: usize) -> Result<(), &'static str> {
    let last = oracle.asks.iter().rev().take(chats).filter(|asked| {
        let Some(Began::Yes(turn)) = asked.began else { return false };
        oracle.ends.contains(&(turn, TurnEnding::Answered))
    });
    if last.count() == chats { Ok(()) } else { Err("a chat does not go on") }
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
        let _ = tokio::time::timeout(AGAIN, request.send(server)).await;
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
                let _ = resolve(&life.runtime, &scene.witness, &row, server).await;
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
    let session = runtime.user_with_id(&row.user).session(row.session.as_str()).await?;
    witness.note(Line::Resolves { call, resolution });
    // A handler that still runs has the first word.
    session.resolve(call, resolution).await?;
    witness.note(Line::Resolved { call, resolution });
    Ok(())
}
