//! What the tests of several members share, and nobody else needs. It depends on no member, so that
//! each may use it.
//!
//! - [`corpus`] makes texts that tokenizers find hard.
//! - [`gguf`] writes model files, among them a tiny model that answers by a table.
//! - [`mcp_server`] is a scripted MCP server.
//! - [`sources`] reads which modules a source file imports.

#![forbid(unsafe_code)]

pub mod corpus;
pub mod gguf;
pub mod mcp_server;
pub mod sources;
