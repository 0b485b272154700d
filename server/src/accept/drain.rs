//! Tracks how far the shutdown of the server is.

use tokio_util::sync::CancellationToken;

/// The two steps of the shutdown. Each is taken once, in this order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drain {
    /// No new work begins. Running work is finished, and streams publish it.
    pub(crate) draining: CancellationToken,
    /// All work has ended. Streams send this and close.
    pub(crate) leaving: CancellationToken,
}

impl Drain {
    /// Returns whether no new work may begin.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }
}
