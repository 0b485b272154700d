//! The reasons why an MCP client was not served.

use std::io;

/// The reason why a client was not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpServeError {
    /// The client did not begin as the protocol says.
    #[error("the MCP client did not begin as the protocol says")]
    Greeting(#[source] io::Error),
    /// The connection ended because of a fault of this program.
    #[error("the connection to the MCP client failed")]
    Failed(#[source] io::Error),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
}
