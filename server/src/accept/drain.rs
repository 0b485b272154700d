//! Tracks how far the server is on its way to its end.

use tokio_util::sync::CancellationToken;

/// The two steps from serving to the end. Each is taken once, in this order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drain {
    /// Nothing begins any more. What runs comes to its end, and streams publish it.
    pub(crate) draining: CancellationToken,
    /// Nothing runs any more. Streams say so and close.
    pub(crate) leaving: CancellationToken,
}

impl Drain {
    /// Returns whether nothing may begin any more.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }
}
