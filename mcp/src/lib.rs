//! Offers the tools of MCP servers as tools of Madang, and the tools of a runtime to MCP clients.
//!
//! ```no_run
//! # use madang::{model::ChatModel, store::Store};
//! # async fn start(
//! #     model: impl ChatModel,
//! #     store: impl Store,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use madang::Runtime;
//! use madang_mcp::{McpConfig, McpServers};
//!
//! let servers = McpServers::start(&McpConfig::read("mcp.json")?).await?;
//! let runtime = Runtime::builder().model(model).store(store).tools(servers.tools()).start().await?;
//! runtime.shutdown().await?;
//! servers.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! The file is the usual one: `{"mcpServers": {"gh": {"command": "gh-mcp"}}}`. Only the server's
//! answer shows what a call did. So a call is recorded before it is sent, and a call that may write
//! is never sent again. If its answer is lost, its effect is `unknown`.
//!
//! In the other direction, [`ToolServer`] offers the tools of a runtime to an MCP client. If a tool
//! needs an approval, the client's person is asked, and the tool never runs without a plain yes.

#[cfg(any(feature = "client", feature = "server"))]
mod broken;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod looked_at;
#[cfg(any(feature = "client", feature = "server"))]
mod pipe;
#[cfg(any(feature = "client", feature = "server"))]
mod values;

#[cfg(feature = "client")]
pub use client::{
    McpConfig, McpConfigError, McpError, McpOffer, McpReview, McpServerReport, McpServers,
    McpToolReport, PinnedChange,
};

#[cfg(feature = "server")]
mod server;

#[cfg(feature = "server")]
pub use server::{AskWhere, McpServeError, ToolCaller, ToolServer};
#[cfg(feature = "http")]
pub use server::{
    EndpointBody, EndpointLimits, EndpointRefusal, EndpointSite, ToolEndpoint, begins,
};
