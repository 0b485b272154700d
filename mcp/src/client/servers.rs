//! Starts all configured servers together, looks at them, and collects their tools.

use std::{collections::HashMap, path::Path, sync::Arc};

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
    offer::{Candidate, candidates, fingerprint},
    report::{McpOffer, McpServerReport, McpToolReport},
    supervisor::{SupervisedServer, fingerprints},
    text::visible,
    tool::McpTool,
    tool_list::ToolList,
};

/// The running servers of a configuration, and their tools. A server ends after this and all its
/// tools are dropped.
#[derive(Debug, Default)]
pub struct McpServers {
    servers: Vec<Arc<SupervisedServer>>,
    tools: Vec<Arc<dyn Tool>>,
    reports: Vec<McpServerReport>,
    warnings: Vec<String>,
}

/// A server that was started, and its list.
struct Found {
    entry: Entry,
    outcome: Result<Listed, String>,
}

/// What a server that runs lists.
struct Listed {
    connection: Connection,
    list: ToolList,
    candidates: Vec<Candidate>,
}

impl McpServers {
    /// Starts all servers at once and reads their tools. If a server is seen for the first time,
    /// what it says of its tools is pinned in `madang.mcp.lock` next to the configuration. A tool
    /// that differs from what is pinned, or that is not pinned, is left out. Dropping the future
    /// stops the servers.
    ///
    /// # Errors
    /// Returns [`McpError`] if a server that is not optional does not start, or if the pins cannot
    /// be read or written.
    pub async fn start(config: &McpConfig) -> Result<Self, McpError> {
        let before = Lock::beside(config.path())?;
        let mut lock = before.clone();
        let found = find(config.entries()).await;
        for Found { entry, outcome } in &found {
            if let (Err(cause), false) = (outcome, entry.is_optional) {
                return Err(McpError::Start { server: entry.name.clone(), cause: cause.clone() });
            }
        }
        let mut servers = Self::of(found, &mut lock, config.path());
        let of_config =
            config.warnings().iter().map(|what| format!("{}: {what}", config.path().display()));
        servers.warnings.splice(0..0, of_config);
        for warning in &servers.warnings {
            warn!(warning, "while MCP servers were started");
        }
        lock.write_if_changed(&before)?;
        Ok(servers)
    }

    /// Starts all servers to look at them, and ends them again. Nothing is pinned. A server that
    /// does not start is only reported.
    ///
    /// # Errors
    /// Returns [`McpError`] if the pins cannot be read.
    pub async fn look(config: &McpConfig) -> Result<Vec<McpServerReport>, McpError> {
        let mut lock = Lock::beside(config.path())?;
        let found = find(config.entries()).await;
        let servers = Self::of(found, &mut lock, config.path());
        let reports = servers.reports.clone();
        servers.close().await;
        Ok(reports)
    }

    fn of(found: Vec<Found>, lock: &mut Lock, config: &Path) -> Self {
        let mut servers = Self::default();
        let clashes = Clashes::among(&found);
        for Found { entry, outcome } in found {
            let report = match outcome {
                Ok(listed) => {
                    // What a server says is pinned when it is seen for the first time, and not
                    // later.
                    if !lock.knows(&entry.name) {
                        lock.pin(&entry.name, &listed.candidates);
                    }
                    let offering = Offering { lock, clashes: &clashes, config };
                    servers.add(entry, listed, &offering)
                }
                Err(what) => {
                    servers.warn(
                        &entry.name,
                        &format!("did not start, and has no tools here: {what}"),
                    );
                    McpServerReport::of_failure(entry.name, what)
                }
            };
            servers.reports.push(report);
        }
        servers
    }

    fn add(&mut self, entry: Entry, listed: Listed, offering: &Offering<'_>) -> McpServerReport {
        let Listed { connection, list, candidates } = listed;
        let server = entry.name.clone();
        for odd in &list.odd {
            self.warn(&server, odd);
        }
        let fingerprint = fingerprint(&candidates);
        let mut offered = Vec::new();
        let mut tools = Vec::new();
        for Candidate { tool, spec } in candidates {
            let original = visible(&tool.name);
            let offer = match spec {
                Err(why) => McpOffer::Refused { why },
                Ok(spec) => {
                    match offering.objection(
                        &server,
                        &tool,
                        &spec,
                        self.tools.len() + offered.len(),
                    ) {
                        Some(why) => McpOffer::Withheld { spec, why },
                        None => McpOffer::Offered(spec),
                    }
                }
            };
            match &offer {
                McpOffer::Offered(spec) => offered.push((tool, spec.clone())),
                McpOffer::Withheld { why, .. } | McpOffer::Refused { why } => {
                    self.warn(&server, &format!("the tool {original:?} is left out: {why}"));
                }
            }
            tools.push(McpToolReport { original, offer });
        }
        let mut of_offered = fingerprints(&list);
        of_offered.retain(|name, _| offered.iter().any(|(tool, _)| tool.name == *name));
        let timeout = entry.timeout;
        let supervised = Arc::new(SupervisedServer::spawn(entry, connection, &list, of_offered));
        for (tool, spec) in offered {
            let fingerprint = tool.fingerprint();
            let original = tool.name;
            let server = Arc::clone(&supervised);
            self.tools.push(Arc::new(McpTool { spec, original, fingerprint, timeout, server }));
        }
        self.servers.push(supervised);
        McpServerReport { server, failure: None, fingerprint: Some(fingerprint), tools }
    }

    fn warn(&mut self, server: &str, what: &str) {
        self.warnings.push(format!("MCP server {server:?}: {what}"));
    }

    /// Returns the tools, for [`Builder::tools`](madang::Builder::tools).
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    /// Returns what was left out or is odd, one sentence for each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Ends all servers, and waits until they have ended. Calls that are running have effect
    /// `unknown`. If the future is dropped, the servers still end.
    pub async fn close(self) {
        for server in &self.servers {
            server.stop();
        }
        for server in &self.servers {
            server.ended().await;
        }
    }
}

/// What decides whether a tool that could be offered is offered.
struct Offering<'a> {
    lock: &'a Lock,
    clashes: &'a Clashes,
    config: &'a Path,
}

impl Offering<'_> {
    /// Returns why a tool is left out, if this many others are offered. Returns `None` if it is not
    /// left out.
    fn objection(
        &self,
        server: &str,
        tool: &ListedTool,
        spec: &ToolSpec,
        offered: usize,
    ) -> Option<String> {
        if let Some(clash) = self.clashes.find(spec) {
            return Some(clash);
        }
        let differs = match self.lock.compare(server, tool) {
            PinnedChange::Same => None,
            PinnedChange::Changed | PinnedChange::Gone => Some("differs from what was first seen"),
            PinnedChange::New => Some("was not there when the server was first seen"),
        };
        if let Some(differs) = differs {
            let config = self.config.display();
            return Some(format!(
                "it {differs}; `madang mcp trust {server} --mcp {config}` shows the tools and pins them"
            ));
        }
        (offered >= MAX_TOOLS_IN_ALL).then(|| format!("there are {MAX_TOOLS_IN_ALL} tools already"))
    }
}

/// The names that two tools would have. Neither of them is offered: a server that lists a name on
/// purpose must not take the calls of another's tool, and must not prevent the start.
#[derive(Debug, Default)]
struct Clashes(HashMap<Arc<str>, Vec<String>>);

impl Clashes {
    fn among(found: &[Found]) -> Self {
        let mut tools: HashMap<Arc<str>, Vec<String>> = HashMap::new();
        for Found { entry, outcome } in found {
            let Ok(listed) = outcome else { continue };
            for Candidate { tool, spec } in &listed.candidates {
                if let Ok(spec) = spec {
                    let original = visible(&tool.name);
                    let server = &entry.name;
                    let this = format!("{original:?} of the MCP server {server:?}");
                    tools.entry(Arc::clone(&spec.name)).or_default().push(this);
                }
            }
        }
        tools.retain(|_, tools| tools.len() > 1);
        Self(tools)
    }

    /// Returns which tools would have this one's name, if others would.
    fn find(&self, spec: &ToolSpec) -> Option<String> {
        let tools = self.0.get(&spec.name)?.join(" and ");
        Some(format!("{tools} would all be the tool {}; keep one by \"exclude\"", spec.name))
    }
}

/// Starts all servers at once.
async fn find(entries: &[Entry]) -> Vec<Found> {
    let mut starting = JoinSet::new();
    for (index, entry) in entries.iter().cloned().enumerate() {
        starting.spawn(async move {
            let outcome = Connection::open(&entry).await.map(|(connection, list)| {
                let candidates = candidates(&entry, &list);
                Listed { connection, list, candidates }
            });
            (index, Found { entry, outcome })
        });
    }
    let mut found = starting.join_all().await;
    found.sort_unstable_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, found)| found).collect()
}
