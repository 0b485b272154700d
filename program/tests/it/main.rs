//! Tests the promises of the program and the answers of its model, one file a promise.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

#[cfg(feature = "llama")]
mod bundled;
#[cfg(feature = "llama")]
mod canaries;
#[cfg(target_os = "linux")]
mod child;
mod printed;
mod program;
#[cfg(feature = "llama")]
mod refused_template;
#[cfg(feature = "llama")]
mod unread_calls;

/// The scripted MCP server of the others.
#[test]
fn a_server_in_a_process() {
    madang_test_support::mcp_server::serve_if_scripted();
}
