//! The panic hook that logs a handler's panic with its backtrace.

use std::{backtrace::Backtrace, panic, sync::Once};

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
