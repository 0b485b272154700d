//! What goes wrong before the first call: the file, the start of a server, and names that collide.

use std::{error::Error, path::PathBuf};

/// The reason why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", path.display())]
#[non_exhaustive]
pub struct McpConfigError {
    /// The path of the configuration file.
    pub path: PathBuf,
    /// The key and its mistake.
    pub what: String,
}

/// The reason why the tools of the configured servers cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// A server that is not optional could not be started.
    #[error(
        "the MCP server {server:?} could not be started: {cause}; mend its entry, or mark it \"optional\": true"
    )]
    Start {
        /// The name of the server in the configuration.
        server: String,
        /// The reason, as a clause of a sentence.
        cause: String,
    },
    /// The configuration has no server of this name.
    #[error("{} has no server {server:?}", path.display())]
    UnknownServer {
        /// The configuration file.
        path: PathBuf,
        /// The name that was asked for.
        server: String,
    },
    /// The tools of a server are not those that were to be trusted.
    #[error(
        "nothing was pinned: the tools of the MCP server {server:?} have the fingerprint {found}, and not {wanted:?}; look at them again with `madang mcp list`"
    )]
    OtherTools {
        /// The name of the server in the configuration.
        server: String,
        /// The fingerprint that was to be trusted.
        wanted: String,
        /// The fingerprint of what the server says.
        found: String,
    },
    /// The pinned descriptions cannot be read or written.
    #[error("failed to {action} {}, which pins the descriptions of tools", path.display())]
    Lock {
        /// The step that failed.
        action: &'static str,
        /// The path of the file with the pinned descriptions.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
}
