//! What whoever watches a runtime is told, and the panic hook that logs a handler's panic with its backtrace.
//!
//! The spans and metrics themselves, and all their names, are in [`madang_actors::telemetry`].

use std::{backtrace::Backtrace, panic, sync::Once};

pub use madang_actors::telemetry::{METRICS, Metric, MetricKind, describe, name};

static INSTALLED: Once = Once::new();

/// Replaces the process's panic hook, once, by one that logs through `tracing`.
pub(crate) fn install_panic_hook() {
    INSTALLED.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let backtrace = Backtrace::capture();
            tracing::error!(panic = %info, %backtrace, "a panic");
        }));
    });
}
