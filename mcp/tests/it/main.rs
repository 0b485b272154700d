//! Tests the promises about tools of MCP servers, one file a promise.
