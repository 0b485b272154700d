//! What the server promises, over raw connections: a file for each promise.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod ag_ui;
mod ai_sdk;
mod approvals;
mod canaries;
mod canary_users;
mod chat_completions;
mod chats;
mod client_memory;
mod draining;
mod errors;
mod hanging;
mod http;
#[cfg(feature = "jwt")]
mod jwt;
mod keys;
mod languages;
mod limits;
mod lists;
mod logins;
mod matrix;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_asks;
#[cfg(feature = "mcp")]
mod mcp_client;
#[cfg(feature = "mcp")]
mod mcp_sessions;
mod metrics;
mod models;
mod mounted;
mod numbers;
mod openapi;
mod outgoing;
mod page;
mod rates;
mod resume;
mod slow;
mod support;
#[cfg(feature = "tls")]
mod tls;
