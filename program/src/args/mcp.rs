//! Options of `madang mcp`: offering tools to MCP clients, listing the tools of MCP servers, and
//! trusting their present form.

use std::path::PathBuf;

use clap::{Args as Options, Subcommand};

use super::shared::ToolOptions;
use crate::language::LanguageChoice;

/// Offer the tools to MCP clients, or list the tools of MCP servers and trust them.
#[derive(Debug, Subcommand)]
pub(crate) enum McpOrder {
    /// Offer the tools to the MCP client that starts this command, over standard input and output.
    ///
    /// A tool that must be confirmed asks the client's person by elicitation. A client without
    /// elicitation receives an error, and the tool does not run. The command ends with its input,
    /// or with a signal: open questions end, and running tools finish.
    ///
    /// It is refused while a chat or server uses the same database. `madang serve` offers both: a
    /// page for chats, and the tools for clients at its address, under /mcp.
    Serve(Box<McpServe>),
    /// Start the servers of a file and list their tools: whether a call asks, and everything that
    /// the model would read.
    ///
    /// Each server has a fingerprint of its tools with their descriptions, arguments and hints.
    /// Nothing is stored.
    List {
        /// The file with the servers, as for `madang chat --mcp FILE`.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Pin the tools of a server. A tool that is new at a server or differs from its pin is left
    /// out until then.
    ///
    /// Without a fingerprint, the tools are shown and a question is asked first.
    Trust {
        /// The name of the server in the file.
        #[arg(value_name = "SERVER")]
        server: String,
        /// The fingerprint from `madang mcp list`. Nothing is pinned if the server's tools differ
        /// from it now.
        #[arg(value_name = "FINGERPRINT")]
        fingerprint: Option<String>,
        /// The file with the servers. The pins are in `madang.mcp.lock` next to it.
        #[arg(long = "mcp", value_name = "FILE", default_value = "mcp.json")]
        file: PathBuf,
    },
}

#[derive(Debug, Options)]
pub(crate) struct McpServe {
    #[command(flatten)]
    pub(crate) tools: ToolOptions,
    #[command(flatten)]
    pub(crate) language: LanguageChoice,
}
