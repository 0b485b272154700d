//! Tests the promises of the toolkits, one file a promise.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod demonstration;
mod entries;
mod envelopes;
mod forgotten;
mod hostile;
mod life;
mod notes;
mod schemas;
mod support;
mod time_zone;
mod tools_md;
