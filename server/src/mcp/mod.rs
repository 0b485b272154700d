//! The tools for MCP clients, over the protocol's own HTTP.
//!
//! `madang-mcp` speaks the protocol. Here stands what it must know of a request: the user of its credential, which person
//! may be asked, and under which names this server is reached. Its answers are streams like all others: they have a place,
//! end with their credential, and say nothing new once the server leaves.

mod handlers;
mod relay;

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
