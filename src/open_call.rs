//! A call that no pipeline brings to its end any more: it is ended as soon as the store takes an end.

use std::sync::Arc;

use madang_actors::{
    dispatcher::{CallContext, CallEnd, DispatchRequest, end_cut_off},
    ledger::CallState,
    port::{LedgerFilter, StoreError},
};
use tokio::time::timeout;

/// A call, and what its end needs.
#[derive(Debug, Clone)]
pub(crate) struct OpenCall {
    pub(crate) request: Arc<DispatchRequest>,
    pub(crate) calls: Arc<CallContext>,
}

impl OpenCall {
    /// Waits before the store is asked once more. True where the runtime shuts down.
    pub(crate) async fn runtime_ends_within_pause(&self, failures: u32) -> bool {
        let pause = self.calls.limits.retry_pause(failures);
        timeout(pause, self.calls.closing.cancelled()).await.is_ok()
    }

    /// Tells whether the ledger has no such call without an end, after an attempt to end it.
    pub(crate) async fn has_ended(&self) -> bool {
        match self.is_open().await {
            Ok(false) => true,
            Ok(true) => self.end().await.is_recorded,
            Err(_) => false,
        }
    }

    /// Tells whether the ledger has the call without an end.
    pub(crate) async fn is_open(&self) -> Result<bool, StoreError> {
        let rows =
            self.calls.store.store().calls(&LedgerFilter::call(self.request.call.id)).await?;
        Ok(rows.iter().any(|row| row.state != CallState::Ended))
    }

    /// Records an end, if the store takes one.
    pub(crate) async fn end(&self) -> CallEnd {
        end_cut_off(&self.calls, self.request.clone()).await
    }
}
