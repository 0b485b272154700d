//! The process that is killed: a server over HTTP on one file, with a model and tools that report
//! on standard output.

use std::{
    error::Error,
    io::{Read as _, stdin},
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use madang::store::SqliteStore;
use madang_server::{
    ListenAddress, Listener, MIGRATIONS, Server, ServerLimits, ServerOptions, SqliteMemory,
    TokenFile,
};
use serde::{Deserialize, Serialize};

use crate::{
    audit::DATABASE,
    oracle::{Oracle, Witness},
    process::{die, say},
    workload::{Death, EFFECTS, Fate, Point, Scene, SessionPlan},
};

/// The driver's orders to its server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerOrders {
    /// The folder of the database and of the tokens.
    pub folder: PathBuf,
    /// The number of this process on its file, which no other has.
    pub life: u64,
    /// The seed of its model and its tools.
    pub seed: u64,
    /// The sessions, one of each user.
    pub clients: usize,
    /// The port, the same for each process on the file.
    pub port: u16,
    /// The point at which it dies, if any, and the number of that pass.
    pub dies_at: Option<(Point, u64)>,
}

/// The file of tokens in the folder of a run.
pub(super) const TOKENS: &str = "tokens";

/// Completions at once: fewer than the clients of a long run, so that some wait.
const COMPLETIONS: usize = 24;

/// Serves until it is killed, or until standard input ends.
///
/// # Errors
/// Any error that no death can excuse.
pub async fn serve(orders: ServerOrders) -> Result<(), Box<dyn Error>> {
    let dies_at = orders.dies_at.map(|at| Death::at(at, die));
    let fate = Fate::real(orders.seed ^ (orders.life << 32), dies_at);
    let witness = Witness::new(Oracle::default(), Arc::new(say));
    let scene = Scene::hurried(sessions(orders.clients), fate, witness);
    let store = SqliteStore::open(orders.folder.join(DATABASE)).migrations("proof", &EFFECTS);
    let store = store.migrations("server", &MIGRATIONS).await?;
    let cast = scene.cast(&store, COMPLETIONS);
    let life = scene.begin_with(store, cast).await?;
    let runtime = life.runtime.clone();
    let options = ServerOptions::default()
        .limits(limits())
        .token_file(TokenFile::new(orders.folder.join(TOKENS)))
        .client_memory(SqliteMemory::open(runtime.clone()).await?)
        .without_page();
    let server = Server::new(runtime.clone(), options)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, orders.port));
    let listener = Listener::bind(&ListenAddress::Tcp(address)).await?;
    let resuming = tokio::spawn(async move { runtime.resume_open().await });
    let stopped = async {
        let end = tokio::task::spawn_blocking(|| stdin().read_to_end(&mut Vec::new()));
        drop(end.await);
    };
    server.serve(vec![listener], stopped).await?;
    resuming.abort();
    Ok(())
}

/// Returns the bounds of a server whose clients are programs: they ask as fast as they can.
fn limits() -> ServerLimits {
    let mut limits = ServerLimits::default();
    (limits.requests_per_second, limits.request_burst) = (100_000, 100_000);
    (limits.new_chats_per_minute, limits.new_chat_burst) = (100_000, 100_000);
    limits
}

/// Returns the sessions of a file, one of each user.
pub(super) fn sessions(clients: usize) -> Vec<SessionPlan> {
    let session = |number: usize| SessionPlan {
        user: format!("user{number}"),
        name: format!("chat{number}"),
    };
    (0..clients).map(session).collect()
}
