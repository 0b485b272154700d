//! Options of `madang mcp`: a look at MCP servers, and trust in what their tools look like now.

use std::path::PathBuf;

use clap::{Args as Options, Subcommand};

/// Look at MCP servers, and trust their tools.
#[derive(Debug, Subcommand)]
pub(crate) enum McpOrder {
    /// Start the servers of a file and list their tools, with what a call of each asks. Nothing is kept.
    List(McpPlace),
    /// Pin the tools of a server as they look now. Until then a tool that differs from what was first seen is left out.
    Trust(McpTrust),
}

#[derive(Debug, Options)]
pub(crate) struct McpPlace {
    /// The file with the servers, as for `madang chat --mcp FILE`.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Options)]
pub(crate) struct McpTrust {
    /// The name of the server in the file.
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// The file with the servers. The pins lie beside it, in `madang.mcp.lock`.
    #[arg(long = "mcp", value_name = "FILE", default_value = "mcp.json")]
    pub(crate) file: PathBuf,
}
