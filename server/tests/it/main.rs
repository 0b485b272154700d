//! What the server promises, over raw connections: a file for each promise.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod approvals;
mod http;
mod keys;
mod resume;
mod support;
