//! The process that is killed: some chats whose model calls the tools of the driver's server.

use std::{error::Error, io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use madang::{
    CallId, Runtime, Session,
    approval::{ApprovalRequest, Decision},
    event::{EventKind, StreamItem, Subscription, TurnEnding},
    ledger::{EffectResolution, LedgerFilter},
    store::{SqliteStore, Store, StoreError},
};
use madang_mcp::{McpConfig, McpServers};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};

use super::{
    DEADLINE, RemoteLine,
    plan::{RemoteModel, SERVER, draw},
};
use crate::{
    audit::DATABASE,
    dice::Dice,
    http::HttpRequest,
    mistakes::{Mistake, RemoteMistake, remote_tools, tools as mistaken_tools},
    oracle::{Oracle, Witness},
    process::{die, say},
    workload::{Death, EFFECTS, Fate, Life, Point, Scene},
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
    /// Whether its people only come to rest.
    pub rests: bool,
    /// The point at which it dies, if any, and the number of that pass.
    pub dies_at: Option<(Point, u64)>,
    /// The mistake that a tool or the store makes.
    pub mistake: Option<Mistake>,
    /// The mistake that the way to the server makes.
    pub remote_mistake: Option<RemoteMistake>,
}

/// The time after which a person tries again.
const AGAIN: Duration = Duration::from_millis(20);

type Failed = Box<dyn Error + Send + Sync>;

/// Lives until it is killed, or until all chats are at rest.
///
/// # Errors
/// Any error that no death can excuse.
pub async fn live(orders: RemoteOrders) -> Result<(), Box<dyn Error>> {
    let dies_at = orders.dies_at.map(|at| Death::at(at, die));
    let entry = json!({
        "url": format!("http://{}/mcp", orders.server), "trust": "annotations",
        "timeout": DEADLINE.as_secs_f64(),
    });
    let config = json!({ "mcpServers": { SERVER: entry } }).to_string();
    let config = McpConfig::parse(&config, orders.folder.join("mcp.json"), &|_| None)?;
    let servers = McpServers::start(&config).await?;
    let scene = Scene {
        sessions: Arc::default(),
        fate: Fate::real(orders.seed ^ (orders.life << 32), dies_at),
        witness: Witness::new(Oracle::default(), Arc::new(|_| ())),
        mistake: orders.mistake,
        limits: Scene::hurried(),
    };
    let path = orders.folder.join(DATABASE);
    let store = SqliteStore::options(path).migrations("proof", &EFFECTS).open().await?;
    let of_tools: Arc<dyn Store> = Arc::new(store.clone());
    let tools = mistaken_tools(servers.tools(), &of_tools, orders.mistake);
    let tools = remote_tools(tools, orders.remote_mistake);
    let cast = Runtime::builder().model(RemoteModel(scene.fate.clone())).tools(tools);
    let life = scene.begin_with(store, cast).await?;
    say(&RemoteLine::Ready);
    if orders.remote_mistake == Some(RemoteMistake::SendsAgain) {
        sends_again(&life.runtime, orders.server).await?;
    }
    let resuming = life.clone();
    let resuming = tokio::spawn(async move { resuming.runtime.resume_open().await });
    let mut people = JoinSet::new();
    for chat in 0..orders.chats {
        let dice = Dice::new(orders.seed ^ (orders.life << 20) ^ (chat as u64));
        let person =
            Person { life: life.clone(), fate: scene.fate.clone(), server: orders.server, chat };
        people.spawn(person.lives(dice, orders.life, orders.rests));
    }
    while let Some(person) = people.join_next().await {
        person?.map_err(|failed| -> Box<dyn Error> { failed })?;
    }
    resuming.await?;
    if !life.shut_down().await {
        return Err("something went on".into());
    }
    servers.close().await;
    Ok(())
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

/// A person with one chat.
#[derive(Clone)]
struct Person {
    life: Arc<Life>,
    fate: Fate,
    server: SocketAddr,
    chat: usize,
}

impl Person {
    async fn lives(self, mut dice: Dice, life: u64, rests: bool) -> Result<(), Failed> {
        let chat = self.chat;
        let session = loop {
            match self.life.runtime.session(&format!("user{chat}"), &format!("chat{chat}")).await {
                Ok(session) => break session,
                Err(_) => sleep(AGAIN).await,
            }
        };
        let reading = tokio::spawn(self.clone().reads(session.clone(), session.subscribe()));
        if let Ok(state) = session.state().await
            && let Some(request) = state.approval_request
        {
            self.answers(&session, &request).await;
        }
        if rests {
            self.rests(&session).await?;
        }
        for number in 0_u64.. {
            let text = draw(&mut dice, &format!("{chat}.{life}.{number}"));
            let Ok(turn) = session.send(text).await else {
                sleep(AGAIN).await;
                continue;
            };
            self.fate.pass(Point::TurnBegan, format_args!("a turn began"));
            if !rests && dice.once_in(6) {
                sleep(Duration::from_millis(dice.below(20))).await;
                drop(session.dismiss().await);
            }
            let ended = turn.ended().await;
            if rests {
                if ended?.ending != TurnEnding::Answered {
                    return Err("the chat does not go on".into());
                }
                break;
            }
            for row in session.unresolved().await? {
                if dice.once_in(2) {
                    self.resolves(&session, row.call, None).await?;
                }
            }
        }
        self.rests(&session).await?;
        reading.abort();
        say(&RemoteLine::Rested);
        Ok(())
    }

    /// Waits until no turn runs, and resolves all that is unknown.
    async fn rests(&self, session: &Session) -> Result<(), Failed> {
        loop {
            match session.turn().await {
                Ok(None) => break,
                Ok(Some(turn)) => drop(turn.ended().await),
                Err(_) => sleep(AGAIN).await,
            }
        }
        loop {
            let unknown = session.unresolved().await?;
            if unknown.is_empty() {
                return Ok(());
            }
            for row in unknown {
                self.resolves(session, row.call, Some(EffectResolution::DidNot)).await?;
            }
            sleep(AGAIN).await;
        }
    }

    /// Resolves an effect by what the server's book says; by this where the call is not in it.
    async fn resolves(
        &self,
        session: &Session,
        call: CallId,
        otherwise: Option<EffectResolution>,
    ) -> Result<(), Failed> {
        let looked = HttpRequest::new("GET", &format!("/calls/{call}")).send(self.server).await?;
        let resolution = match &*looked.body.whole().await? {
            b"true" => Some(EffectResolution::TookEffect),
            b"false" => Some(EffectResolution::DidNot),
            b"" => otherwise,
            other => return Err(io::Error::other(String::from_utf8_lossy(other)).into()),
        };
        // A handler that still runs has the first word.
        if let Some(resolution) = resolution
            && session.resolve(call, resolution).await.is_ok()
        {
            say(&RemoteLine::Resolved { call, effect: resolution.effect() });
        }
        Ok(())
    }

    /// Reads the events from now on, and answers questions.
    async fn reads(self, session: Session, mut events: Subscription) {
        let fate = &self.fate;
        while let Some(item) = events.next().await {
            let StreamItem::Event(event) = item else { continue };
            if let EventKind::ApprovalRequested { request } = &event.kind {
                self.answers(&session, request).await;
            } else if let EventKind::ToolCallEnded { record } = &event.kind {
                fate.pass(Point::OutcomeHeard, format_args!("an outcome was heard"));
                say(&RemoteLine::Heard { call: record.id, effect: record.effect });
            } else if let EventKind::ToolCallResolved { resolved, .. } = &event.kind {
                say(&RemoteLine::Heard {
                    call: resolved.call,
                    effect: resolved.resolution.effect(),
                });
            }
        }
    }

    async fn answers(&self, session: &Session, request: &ApprovalRequest) {
        let fate = &self.fate;
        fate.pass(Point::QuestionSeen, format_args!("a question is seen"));
        let decision = match fate.below(6) {
            0 => Decision::Deny,
            1 => Decision::ApproveAlways,
            _ => Decision::Approve,
        };
        if decision != Decision::Deny {
            say(&RemoteLine::Approves { call: request.call });
        }
        drop(session.decide(request, decision).await);
        fate.pass(Point::QuestionAnswered, format_args!("a question is answered"));
    }
}
