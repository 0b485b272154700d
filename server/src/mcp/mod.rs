//! Offers the tools to MCP clients, over the protocol's own HTTP.
//!
//! `madang-mcp` speaks the protocol. For each request, this module passes it the user of the
//! credential, the person to ask, and the names under which this server is reached.
//!
//! `schema` has the messages for the description of the API.
//!
//! **Flow.** `handlers` read a message, take the permit of a stream, and call the endpoint. A plain
//! answer is sent as it is. An answer that is a stream, or that is late, goes through `relay`.
//!
//! **Invariants.**
//! - The streams of this surface are like all others. They have a permit, end with their
//!   credential, and publish nothing new once the server shuts down.
//! - A message that begins a call or a session is refused after the server began to drain.
//! - The key that seals calls between requests is derived from the cookie key. If that key is kept,
//!   it finds calls of the previous process.

mod handlers;
mod relay;
mod schema;

use madang::Runtime;
use madang_mcp::{EndpointLimits, ToolEndpoint};

use crate::{ServerLimits, auth::secret::CookieKey};

pub(crate) use handlers::routes;
pub(crate) use relay::LAST_WORDS;

/// Makes the endpoint of a server.
pub(crate) fn endpoint(runtime: Runtime, key: &CookieKey, limits: &ServerLimits) -> ToolEndpoint {
    let mut of_endpoint = EndpointLimits::default();
    of_endpoint.max_sessions = limits.max_mcp_sessions;
    of_endpoint.max_sessions_per_user = limits.max_mcp_sessions_per_user;
    of_endpoint.session_idle = limits.mcp_session_idle;
    of_endpoint.max_body_bytes = limits.max_mcp_body_bytes;
    of_endpoint.keep_alive = limits.keep_alive;
    ToolEndpoint::new(runtime, key.derive(b"madang mcp 1"), of_endpoint)
}
