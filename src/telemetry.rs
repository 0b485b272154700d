//! The panic hook that logs a handler's panic with its backtrace.
//!
//! The spans and metrics, and all their names, are in [`madang_actors::telemetry`].

use std::{backtrace::Backtrace, panic, sync::Once};

use madang_actors::port::ToolFault;

pub use madang_actors::telemetry::{METRICS, Metric, MetricKind, describe, name};

static INSTALLED: Once = Once::new();

/// Replaces the process's panic hook, once, by one that logs through `tracing`, and lets handlers
/// that fail keep their stack.
pub(crate) fn install_panic_hook() {
    INSTALLED.call_once(|| {
        ToolFault::keep_stacks();
        panic::set_hook(Box::new(|info| {
            // Whatever `RUST_BACKTRACE` says: the embedder asked for it, and a panic in the field
            // comes once.
            let backtrace = Backtrace::force_capture();
            tracing::error!(panic = %info, %backtrace, "a panic");
        }));
    });
}
