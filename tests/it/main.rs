//! What we promise: one file a promise.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod admission;
#[cfg(all(feature = "bundled-model", feature = "sqlite"))]
mod bundled;
#[cfg(all(feature = "bundled-model", feature = "sqlite"))]
mod canaries;
#[cfg(all(feature = "child", target_os = "linux"))]
mod child;
mod conversation;
mod dismissal;
mod dispatch;
mod dropped;
#[cfg(feature = "sqlite")]
mod entries;
mod envelopes;
mod forgotten;
mod gaps;
mod gate;
mod generated_types;
mod given_up;
#[cfg(feature = "sqlite")]
mod hostile;
mod layers;
mod life;
mod limits;
mod logs;
mod named;
mod notes;
mod one_runtime;
mod program;
mod readers;
mod refused;
#[cfg(all(feature = "llama", feature = "program", feature = "sqlite", target_os = "linux"))]
mod refused_template;
mod resume;
#[cfg(feature = "sqlite")]
mod schemas;
mod sqlite;
mod supervision;
mod support;
mod telemetry;
#[cfg(feature = "sqlite")]
mod time_zone;
mod tools_md;
mod transactions;
