//! Supervises a server: starts it again with a growing delay, reads its tools again after they
//! changed, and ends it when we end.

use std::{collections::HashMap, pin::pin, sync::Arc, time::Duration};

use rmcp::{RoleClient, service::Peer};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tracing::{debug, info, warn};

use super::{
    connection::{Client, Connection},
    entry::Entry,
    limits::{END_STEP, FIRST_DELAY, LAST_DELAY, STEADY_AFTER},
    progress::Reports,
    text::visible,
    tool_list::ToolList,
};

/// The fingerprints of a server's tools, by their original names.
pub(super) type Fingerprints = HashMap<String, String>;

/// The handle of a supervised server. If it is dropped, the server ends.
#[derive(Debug)]
pub(super) struct SupervisedServer {
    pub(super) name: String,
    /// The running server. `None` while it is being started again or its tools are being read
    /// again, and after it has ended.
    link: watch::Receiver<Option<Arc<Live>>>,
    stop: CancellationToken,
    _stops: DropGuard,
    task: TaskTracker,
}

/// A running server and its tools as they are now.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) peer: Peer<RoleClient>,
    pub(super) fingerprints: Fingerprints,
    /// Whether a lost connection means that the server has ended.
    is_process: bool,
    /// Notified if a call finds that the server has forgotten the client's session.
    pub(super) is_over: Arc<Notify>,
    /// The calls on whose progress the server may report.
    pub(super) reports: Arc<Reports>,
}

impl SupervisedServer {
    /// Supervises a server that was started, in a task of its own. `offered` are the tools that
    /// were registered.
    pub(super) fn spawn(
        entry: Entry,
        connection: Connection,
        list: &ToolList,
        offered: Fingerprints,
    ) -> Self {
        let (link, watched) = watch::channel(None);
        let stop = CancellationToken::new();
        let name = entry.name.clone();
        let supervisor = ServerSupervisor { entry, offered, link, stop: stop.clone() };
        let fingerprints = fingerprints(list);
        let task = TaskTracker::new();
        task.spawn(supervisor.run(connection, fingerprints));
        task.close();
        Self { name, link: watched, _stops: stop.clone().drop_guard(), stop, task }
    }

    /// Returns the running server, after a wait of at most `patience`. If a process is `gone`,
    /// waits for another one. Returns `None` if none comes in time.
    pub(super) async fn live(
        &self,
        patience: Duration,
        gone: Option<&Arc<Live>>,
    ) -> Option<Arc<Live>> {
        let mut link = self.link.clone();
        let is_gone = |live: &Arc<Live>| {
            live.peer.is_transport_closed()
                || gone.is_some_and(|gone| gone.is_process && Arc::ptr_eq(gone, live))
        };
        let known = link.wait_for(|link| link.as_ref().is_some_and(|live| !is_gone(live)));
        // If the server has ended with us, there is none, neither in time nor later.
        timeout(patience, known).await.ok()?.ok()?.clone()
    }

    /// Lets the server end, without waiting for it.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the server has ended.
    pub(super) async fn ended(&self) {
        self.task.wait().await;
    }
}

/// The task that supervises a server.
struct ServerSupervisor {
    entry: Entry,
    offered: Fingerprints,
    link: watch::Sender<Option<Arc<Live>>>,
    stop: CancellationToken,
}

impl ServerSupervisor {
    async fn run(self, mut connection: Connection, mut fingerprints: Fingerprints) {
        let mut delay = FIRST_DELAY;
        loop {
            let began = Instant::now();
            self.serve(connection, fingerprints).await;
            if self.stop.is_cancelled() {
                break;
            }
            warn!(server = %self.entry.name, "an MCP server is gone, and is started again");
            if began.elapsed() >= STEADY_AFTER {
                delay = FIRST_DELAY;
            }
            let Some(next) = self.start_again(&mut delay).await else { break };
            (connection, fingerprints) = next;
        }
    }

    /// Serves calls until the connection ends or we end.
    async fn serve(&self, connection: Connection, mut fingerprints: Fingerprints) {
        let Connection { service, process } = connection;
        let Client { list_changed, reports } = service.service().clone();
        let peer = service.peer().clone();
        let cancel = service.cancellation_token();
        let listening = tokio::spawn(Connection::listen(peer.clone(), Arc::clone(&list_changed)));
        let is_over = Arc::new(Notify::new());
        let mut closed = pin!(service.waiting());
        let is_closed = loop {
            self.log_changes(&fingerprints);
            let live = Live {
                peer: peer.clone(),
                fingerprints,
                is_process: process.is_some(),
                is_over: Arc::clone(&is_over),
                reports: Arc::clone(&reports),
            };
            self.link.send_replace(Some(Arc::new(live)));
            tokio::select! {
                _ = &mut closed => break true,
                () = self.stop.cancelled() => break false,
                () = is_over.notified() => break false,
                () = list_changed.notified() => {}
            }
            // Calls wait until it is known which tools the server has now.
            self.link.send_replace(None);
            tokio::select! {
                list = Connection::list(&peer) => match list {
                    Ok(list) => fingerprints = self::fingerprints(&list),
                    Err(what) => {
                        warn!(server = %self.entry.name, what, "an MCP server no longer lists its tools");
                        break false;
                    }
                },
                () = self.stop.cancelled() => break false,
            }
        };
        self.link.send_replace(None);
        listening.abort();
        cancel.cancel();
        // A server ends by itself after its input is closed.
        if !is_closed {
            let _ = timeout(END_STEP, closed).await;
        }
        if let Some(process) = process {
            process.end(&self.entry.name).await;
        }
    }

    async fn start_again(&self, delay: &mut Duration) -> Option<(Connection, Fingerprints)> {
        loop {
            tokio::select! {
                () = sleep(*delay) => {}
                () = self.stop.cancelled() => return None,
            }
            *delay = (*delay * 2).min(LAST_DELAY);
            let started = tokio::select! {
                started = Connection::open(&self.entry) => started,
                () = self.stop.cancelled() => return None,
            };
            match started {
                Ok((connection, list)) => {
                    info!(server = %self.entry.name, "an MCP server runs again");
                    return Some((connection, fingerprints(&list)));
                }
                Err(what) => {
                    let delay = *delay;
                    warn!(server = %self.entry.name, what, ?delay, "an MCP server does not start again");
                }
            }
        }
    }

    /// Logs which tools differ from those that were registered. Calls of them end as
    /// `tool_changed`.
    fn log_changes(&self, fingerprints: &Fingerprints) {
        let server = &self.entry.name;
        for (tool, print) in &self.offered {
            let how = match fingerprints.get(tool) {
                Some(now) if now == print => continue,
                Some(_) => "has changed",
                None => "is gone",
            };
            let tool = visible(tool);
            warn!(
                server,
                tool, "a tool of an MCP server {how}: its calls are refused until a restart"
            );
        }
        for tool in fingerprints.keys().filter(|tool| !self.offered.contains_key(*tool)) {
            debug!(server, tool = visible(tool), "an MCP server has a tool that is not registered");
        }
    }
}

/// Returns the fingerprints of the tools of a list.
pub(super) fn fingerprints(list: &ToolList) -> Fingerprints {
    list.tools.iter().map(|tool| (tool.name.clone(), tool.fingerprint())).collect()
}
