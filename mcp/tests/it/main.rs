//! Tests the promises about tools of MCP servers, one file a promise.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod asking;
mod changes;
#[cfg(feature = "http")]
mod endpoint;
mod http_server;
mod lost;
mod odd;
mod over_http;
mod pins;
mod raw;
mod serving;
mod serving_asks;
mod serving_bounds;
mod serving_calls;
mod serving_unread;
mod starts;
mod support;

/// The scripted server of the others.
#[test]
fn a_server_in_a_process() {
    madang_test_support::mcp_server::serve_if_scripted();
}
