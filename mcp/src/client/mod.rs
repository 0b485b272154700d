//! The client: starts or reaches MCP servers that others wrote, and offers their tools.
//!
//! - `config` reads the file. `entry` reads one of its servers from its `fields`, with `jsonc`,
//!   `expand` and `env_file`.
//! - `connection` starts or reaches one server by `process` or `http`, within the bounds of
//!   `output` and `guard`.
//! - `list` reads the tools of a server. `offer` decides which become tools, with `name`, `schema`,
//!   and `lock` in its `own_file`.
//! - `supervisor` keeps a server running and knows which tools it still has.
//! - `tool` makes calls, `progress` passes on how far one has come, `call` finds its effect, and
//!   `result` reads an answer.
//! - `servers` starts all servers and returns a `report`. By a `review` a person trusts a server.
//!
//! Invariants:
//! - A call is sent once. Only a read of a trusted server is sent once more, if its answer was
//!   lost.
//! - A call that was sent and not answered has effect `unknown`.
//! - No text of a server decides anything, unless the configuration trusts its annotations.
//! - Whatever a server sends, memory and waits are bounded (`limits`).

mod answer;
mod bulk;
mod call;
mod config;
mod connection;
mod decimal;
mod entry;
mod env_file;
mod error;
mod events;
mod expand;
mod fields;
mod guard;
mod http;
mod jsonc;
mod limits;
mod list;
mod lock;
mod message;
mod name;
mod offer;
mod output;
mod own_file;
mod pending;
mod process;
mod progress;
mod repair;
mod reply;
mod report;
mod result;
mod review;
mod schema;
mod servers;
mod supervisor;
mod text;
mod tool;
mod tool_list;

pub use config::McpConfig;
pub use error::{McpConfigError, McpError};
pub use lock::PinnedChange;
pub use report::{McpOffer, McpServerReport, McpToolReport};
pub use review::McpReview;
pub use servers::McpServers;
