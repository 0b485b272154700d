//! Tests the promises of the vocabulary, the ledger, the registry and the stores, one file a
//! promise.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approvals;
mod consent;
mod dependencies;
mod envelopes;
mod hashes;
mod hostile;
mod layers;
mod memory_store;
mod outcomes;
mod questions;
mod registry;
#[cfg(feature = "schema")]
mod schema;
mod schema_bounds;
mod support;
mod tools;
mod validation;
