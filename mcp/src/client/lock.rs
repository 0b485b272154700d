//! Keeps the pinned descriptions: what each tool looked like when it was first seen. A description
//! is a stranger's text for the model, and in a known attack it changes after a person looked at
//! it.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{error::McpError, list::ListedTool, offer::Candidate, own_file, text::visible};

/// The name of the file, which is next to the configuration.
const FILE: &str = "madang.mcp.lock";
/// The newest form of the file.
const VERSION: u32 = 1;

/// The fingerprints of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lock {
    path: PathBuf,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Content {
    version: u32,
    /// The fingerprints by server and tool.
    servers: BTreeMap<String, BTreeMap<String, String>>,
}

/// How a tool differs from its pinned description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinnedChange {
    /// It was not seen before.
    New,
    /// It is as it was first seen.
    Same,
    /// It differs from what was first seen.
    Changed,
    /// It was seen before, and its server no longer has it.
    Gone,
}

impl Lock {
    /// Reads the file next to this configuration. Returns an empty one if there is none.
    pub(super) fn beside(config: &Path) -> Result<Self, McpError> {
        let path = config.with_file_name(FILE);
        let failed = |cause: Box<dyn std::error::Error + Send + Sync>| McpError::Lock {
            action: "read",
            path: path.clone(),
            cause,
        };
        let content = match own_file::read(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.into()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Content { version: VERSION, servers: BTreeMap::new() }
            }
            Err(error) => return Err(failed(error.into())),
        };
        if content.version != VERSION {
            return Err(failed(
                format!("its version is {}, and {VERSION} is known", content.version).into(),
            ));
        }
        Ok(Self { path, content })
    }

    /// Compares a tool with what is pinned.
    pub(super) fn compare(&self, server: &str, tool: &ListedTool) -> PinnedChange {
        let pinned = self.content.servers.get(server).and_then(|tools| tools.get(&tool.name));
        match pinned {
            None => PinnedChange::New,
            Some(print) if *print == tool.fingerprint() => PinnedChange::Same,
            Some(_) => PinnedChange::Changed,
        }
    }

    /// Returns whether this server was seen before.
    pub(super) fn knows(&self, server: &str) -> bool {
        self.content.servers.contains_key(server)
    }

    /// Pins the tools of a server as they are now, in place of those it had before. A server
    /// without tools is then known too.
    pub(super) fn pin(&mut self, server: &str, candidates: &[Candidate]) {
        let known = candidates.iter().filter(|candidate| candidate.spec.is_ok());
        let pins = known.map(|candidate| {
            let tool = &candidate.tool;
            (tool.name.clone(), tool.fingerprint())
        });
        self.content.servers.insert(server.to_owned(), pins.collect());
    }

    /// Returns how each tool of a server differs from what is pinned, including those that are
    /// gone.
    pub(super) fn changes(
        &self,
        server: &str,
        candidates: &[Candidate],
    ) -> Vec<(String, PinnedChange)> {
        let known = candidates.iter().filter(|candidate| candidate.spec.is_ok());
        let mut changes: Vec<_> = known
            .map(|candidate| {
                let tool = &candidate.tool;
                (visible(&tool.name), self.compare(server, tool))
            })
            .collect();
        let is_there =
            |name: &String| candidates.iter().any(|candidate| candidate.tool.name == *name);
        let pinned = self.content.servers.get(server).into_iter().flatten();
        let gone = pinned.filter(|(name, _)| !is_there(name));
        changes.extend(gone.map(|(name, _)| (visible(name), PinnedChange::Gone)));
        changes
    }

    /// Writes the whole file, if it differs from `before`.
    pub(super) fn write_if_changed(&self, before: &Self) -> Result<(), McpError> {
        if self.content == before.content {
            return Ok(());
        }
        let failed = |cause: io::Error| McpError::Lock {
            action: "write",
            path: self.path.clone(),
            cause: cause.into(),
        };
        let text =
            serde_json::to_string_pretty(&self.content).map_err(|error| failed(error.into()))?;
        own_file::replace(&self.path, &(text + "\n")).map_err(failed)
    }
}
