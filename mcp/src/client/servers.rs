//! All configured servers: started together, looked at, and their tools collected.

use std::{collections::HashMap, sync::Arc};

use madang::tool::{Tool, ToolSpec};
use tokio::task::JoinSet;
use tracing::warn;

use super::{
    config::McpConfig,
    connection::Connection,
    entry::Entry,
    error::McpError,
    limits::MAX_TOOLS_IN_ALL,
    list::ListedTool,
    lock::{Lock, PinnedChange},
    offer,
    supervisor::{Fingerprints, SupervisedServer, fingerprints},
    text::visible,
    tool::McpTool,
    tool_list::ToolList,
};

/// The running servers of a configuration, and their tools. A server ends once this and all its tools are dropped.
#[derive(Debug, Default)]
pub struct McpServers {
    servers: Vec<Arc<SupervisedServer>>,
    tools: Vec<Arc<dyn Tool>>,
    reports: Vec<McpServerReport>,
    warnings: Vec<String>,
}

/// What was found at one server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpServerReport {
    /// The name in the configuration.
    pub server: String,
    /// The reason why it did not start, where it did not.
    pub failure: Option<String>,
    /// The tools that it lists.
    pub tools: Vec<McpToolReport>,
}

/// What was found of one tool of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpToolReport {
    /// The name at the server, with hidden characters made visible.
    pub original: String,
    /// The name for the model, its description and effect; or why the tool is left out.
    pub offer: Result<ToolSpec, String>,
}

/// A server that was started, and its list.
struct Found {
    entry: Entry,
    outcome: Result<(Connection, ToolList), String>,
}

impl McpServers {
    /// Starts all servers at once and reads their tools. Descriptions that are seen the first time are pinned in
    /// `madang.mcp.lock` beside the configuration; a tool that differs from its pinned description is left out.
    ///
    /// # Errors
    /// [`McpError`] if a server that is not optional does not start, or the pins cannot be kept.
    pub async fn start(config: &McpConfig) -> Result<Self, McpError> {
        let before = Lock::beside(config.path())?;
        let mut lock = before.clone();
        let found = find(config.entries()).await;
        for Found { entry, outcome } in &found {
            if let (Err(cause), false) = (outcome, entry.is_optional) {
                return Err(McpError::Start { server: entry.name.clone(), cause: cause.clone() });
            }
        }
        let mut servers = Self::of(found, &mut lock);
        let of_config =
            config.warnings().iter().map(|what| format!("{}: {what}", config.path().display()));
        servers.warnings.splice(0..0, of_config);
        for warning in &servers.warnings {
            warn!(warning, "while MCP servers were started");
        }
        lock.write_if_changed(&before)?;
        Ok(servers)
    }

    /// Starts all servers to look at them: nothing is pinned. One that does not start is only reported.
    ///
    /// # Errors
    /// [`McpError`] if the pins cannot be read.
    pub async fn look(config: &McpConfig) -> Result<Vec<McpServerReport>, McpError> {
        let mut lock = Lock::beside(config.path())?;
        let found = find(config.entries()).await;
        let servers = Self::of(found, &mut lock);
        let reports = servers.reports.clone();
        servers.close().await;
        Ok(reports)
    }

    fn of(found: Vec<Found>, lock: &mut Lock) -> Self {
        let mut servers = Self::default();
        let clashes = Clashes::among(&found);
        for Found { entry, outcome } in found {
            let report = match outcome {
                Ok((connection, list)) => servers.add(entry, connection, &list, lock, &clashes),
                Err(what) => {
                    servers.warn(
                        &entry.name,
                        &format!("did not start, and has no tools here: {what}"),
                    );
                    McpServerReport { server: entry.name, failure: Some(what), tools: Vec::new() }
                }
            };
            servers.reports.push(report);
        }
        servers
    }

    fn add(
        &mut self,
        entry: Entry,
        connection: Connection,
        list: &ToolList,
        lock: &mut Lock,
        clashes: &Clashes,
    ) -> McpServerReport {
        let server = entry.name.clone();
        for odd in &list.odd {
            self.warn(&server, odd);
        }
        let is_known = lock.knows(&server);
        let mut offered = Vec::new();
        let mut tools = Vec::new();
        for tool in list.tools.iter().filter(|tool| !entry.exclude.contains(&tool.name)) {
            let original = visible(&tool.name);
            let offer = self.offer(&entry, tool, lock, clashes, offered.len());
            match &offer {
                Ok(spec) => {
                    if is_known && lock.compare(&server, tool) == PinnedChange::New {
                        self.warn(&server, &format!("has a new tool, {original:?}"));
                    }
                    lock.pin(&server, tool);
                    offered.push((tool.clone(), spec.clone()));
                }
                Err(what) => {
                    self.warn(&server, &format!("the tool {original:?} is left out: {what}"))
                }
            }
            tools.push(McpToolReport { original, offer });
        }
        let mut of_offered = fingerprints(list);
        of_offered.retain(|name, _| offered.iter().any(|(tool, _)| tool.name == *name));
        let timeout = entry.timeout;
        let supervised = Arc::new(SupervisedServer::spawn(entry, connection, list, of_offered));
        for (tool, spec) in offered {
            let (fingerprint, original) = (tool.fingerprint(), tool.name);
            let server = Arc::clone(&supervised);
            self.tools.push(Arc::new(McpTool { spec, original, fingerprint, timeout, server }));
        }
        self.servers.push(supervised);
        McpServerReport { server, failure: None, tools }
    }

    /// Describes a tool, or says why it is left out.
    fn offer(
        &self,
        entry: &Entry,
        tool: &ListedTool,
        lock: &Lock,
        clashes: &Clashes,
        offered: usize,
    ) -> Result<ToolSpec, String> {
        let spec = offer::spec(entry, tool)?;
        if let Some(clash) = clashes.of(&spec) {
            return Err(clash);
        }
        if let Some(refusal) = offer::refusal_of_registry(&spec) {
            return Err(refusal);
        }
        if lock.compare(&entry.name, tool) == PinnedChange::Changed {
            return Err(format!(
                "it differs from what was first seen; look at it with `madang mcp list`, then `madang mcp trust {}`",
                entry.name
            ));
        }
        if self.tools.len() + offered >= MAX_TOOLS_IN_ALL {
            return Err(format!("there are {MAX_TOOLS_IN_ALL} tools already"));
        }
        Ok(spec)
    }

    fn warn(&mut self, server: &str, what: &str) {
        self.warnings.push(format!("MCP server {server:?}: {what}"));
    }

    /// Gives the tools, for [`Builder::tools`](madang::Builder::tools).
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    /// Gives what was left out or is odd, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Ends all servers, and waits until they have ended. Calls that run now have effect `unknown`.
    pub async fn close(self) {
        for server in &self.servers {
            server.stop();
        }
        for server in &self.servers {
            server.ended().await;
        }
    }
}

/// The names that two tools would have. Neither of them is offered: a server that lists a name on purpose must not take the
/// calls of another's tool, nor prevent the start.
#[derive(Debug, Default)]
struct Clashes(HashMap<Arc<str>, Vec<String>>);

impl Clashes {
    fn among(found: &[Found]) -> Self {
        let mut tools: HashMap<Arc<str>, Vec<String>> = HashMap::new();
        for Found { entry, outcome } in found {
            let Ok((_, list)) = outcome else { continue };
            for tool in list.tools.iter().filter(|tool| !entry.exclude.contains(&tool.name)) {
                if let Ok(spec) = offer::spec(entry, tool) {
                    let (original, server) = (visible(&tool.name), &entry.name);
                    let this = format!("{original:?} of the MCP server {server:?}");
                    tools.entry(spec.name).or_default().push(this);
                }
            }
        }
        tools.retain(|_, tools| tools.len() > 1);
        Self(tools)
    }

    /// Says which tools would have this one's name, if others would.
    fn of(&self, spec: &ToolSpec) -> Option<String> {
        let tools = self.0.get(&spec.name)?.join(" and ");
        Some(format!("{tools} would all be the tool {}; keep one by \"exclude\"", spec.name))
    }
}

/// Starts all servers at once.
async fn find(entries: &[Entry]) -> Vec<Found> {
    let mut starting = JoinSet::new();
    for (index, entry) in entries.iter().cloned().enumerate() {
        starting.spawn(async move {
            let outcome = Connection::open(&entry).await;
            (index, Found { entry, outcome })
        });
    }
    let mut found = starting.join_all().await;
    found.sort_unstable_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, found)| found).collect()
}

/// Pins the tools of a server as they are now, and tells how each stands to what was pinned before.
///
/// # Errors
/// [`McpError`] if there is no such server, it does not start, or the pins cannot be kept.
pub async fn trust(
    config: &McpConfig,
    server: &str,
) -> Result<Vec<(String, PinnedChange)>, McpError> {
    let entry = config.entries().iter().find(|entry| entry.name == server);
    let entry = entry.ok_or_else(|| McpError::UnknownServer {
        path: config.path().to_owned(),
        server: server.to_owned(),
    })?;
    let before = Lock::beside(config.path())?;
    let failed = |cause| McpError::Start { server: server.to_owned(), cause };
    let (connection, list) = Connection::open(entry).await.map_err(failed)?;
    let running = SupervisedServer::spawn(entry.clone(), connection, &list, Fingerprints::new());
    running.stop();
    running.ended().await;
    let (mut lock, mut changes) = (before.clone(), Vec::new());
    let mut gone = lock.forget(server);
    for tool in &list.tools {
        gone.retain(|name| *name != tool.name);
        changes.push((visible(&tool.name), before.compare(server, tool)));
        lock.pin(server, tool);
    }
    changes.extend(gone.iter().map(|name| (visible(name), PinnedChange::Gone)));
    lock.write_if_changed(&before)?;
    Ok(changes)
}
