//! The server: offers the tools of a runtime to an MCP client, for one user.
//!
//! `offer` describes the tools, `result` the end of a call, and `question` the request for an
//! approval and its answer. These three are pure. `request` reads what a client writes. `serving`
//! lists and calls the tools by the public API of the runtime. `state` seals what a client of a
//! revision without a handshake brings back with its answer.
//!
//! ```text
//! MCP client --tools/call--> serving --begin--> RunningCall
//!     ^                         |                   |
//!     '------- question --------'<---- request -----'
//! ```
//!
//! Invariants:
//! - A call that needs an approval runs only after a plain yes of the client's person, or after a
//!   decision elsewhere. An accepted form without its `ok` is not a yes, and a client that cannot
//!   ask gets `unreachable`.
//! - An answer counts only for the request that was shown, by its digest.
//! - A call that its client cancels is dismissed, and so is one whose client leaves before it
//!   answers.
//! - A repeated key runs nothing a second time.

mod asking;
mod bounded;
mod caller;
mod error;
mod offer;
#[cfg(feature = "http")]
mod over_http;
mod progress;
mod question;
mod request;
mod result;
mod serving;
mod state;

pub use caller::{AskWhere, ToolCaller};
pub use error::McpServeError;
#[cfg(feature = "http")]
pub use over_http::{
    EndpointBody, EndpointLimits, EndpointRefusal, EndpointSite, ToolEndpoint, begins,
};
pub use serving::ToolServer;
