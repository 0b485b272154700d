//! What we promise: one file a promise.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod admission;
mod conversation;
mod copies;
mod deletion;
mod dismissal;
mod dispatch;
mod dropped;
mod gaps;
mod gate;
mod generated_types;
mod glossary;
mod import;
mod inbox;
mod instructions;
mod languages;
mod late_reports;
mod layers;
mod limits;
mod logs;
mod models;
mod named;
mod one_runtime;
mod opaque;
mod outage;
mod over_http;
mod pages;
mod progress;
#[cfg(feature = "remote")]
mod providers;
mod readers;
mod refused;
#[cfg(feature = "remote")]
mod remote;
mod restart_limit;
mod resume;
mod running_calls;
mod sessions;
#[cfg(target_os = "linux")]
mod setup;
mod smallest;
mod sqlite;
mod supervision;
mod support;
mod telemetry;
mod temporary;
mod transactions;
mod turn_status;
mod turns;
mod views;
