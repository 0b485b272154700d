//! A call that no pipeline will end: it is ended as soon as the store takes an end.

use std::sync::Arc;

use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::shared_call::SharedCall;
use crate::{
    dispatcher::{CallContext, CallEnd, DispatchRequest, end_cut_off},
    ledger::CallState,
    port::{LedgerFilter, LedgerRow, StoreError},
    session::SessionRegistry,
};

/// A call, and what its end needs.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    pub(super) request: Arc<DispatchRequest>,
    pub(super) calls: Arc<CallContext>,
}

impl OpenCall {
    /// Tries with growing pauses to record an end, until the ledger has one. False if the runtime
    /// shuts down before: the next start ends the call. False, too, if the key of the call names
    /// another one now, to which the open call in the ledger belongs.
    pub(super) async fn end_later(&self, shared: Option<&Arc<SharedCall>>) -> bool {
        let mut failures = 0;
        while !self.runtime_ends_within_pause(failures).await {
            failures = failures.saturating_add(1);
            // Until this is dropped, no other caller begins the call of the key anew.
            let mut running = None;
            if let Some((shared, entry)) = shared.and_then(|it| Some((it, it.entry.as_ref()?))) {
                let running = running.insert(entry.running().await);
                if running.as_ptr() != Arc::as_ptr(shared) {
                    return false;
                }
            }
            if self.has_ended().await {
                return true;
            }
        }
        false
    }

    /// Waits before the store is asked again. Returns true if the runtime shuts down.
    async fn runtime_ends_within_pause(&self, failures: u32) -> bool {
        let pause = self.calls.limits.retry_pause(failures);
        timeout(pause, self.calls.closing.cancelled()).await.is_ok()
    }

    /// Returns whether the ledger has no such call without an end, after an attempt to end it.
    async fn has_ended(&self) -> bool {
        match self.is_open().await {
            Ok(false) => true,
            Ok(true) => self.end().await.is_recorded,
            Err(_) => false,
        }
    }

    /// Returns whether the ledger has the call without an end.
    pub(super) async fn is_open(&self) -> Result<bool, StoreError> {
        let rows =
            self.calls.store.store().calls(&LedgerFilter::call(self.request.call.id)).await?;
        Ok(rows.iter().any(|row| row.state != CallState::Ended))
    }

    /// Records an end, if the store takes one.
    pub(super) async fn end(&self) -> CallEnd {
        end_cut_off(&self.calls, self.request.clone()).await
    }
}

/// The open calls whose callers ended with their process, and whose end the store did not take when
/// the runtime started.
#[derive(Debug)]
#[must_use = "dropped, it leaves its calls open until the next start"]
pub struct AbandonedCalls(Vec<OpenCall>);

impl AbandonedCalls {
    /// Ends the calls of these rows, and returns those whose end the store did not take.
    pub async fn end(rows: Vec<LedgerRow>, calls: &Arc<CallContext>) -> Self {
        let mut left = Vec::new();
        for row in rows {
            let request = Arc::new(DispatchRequest::of(row));
            let call = OpenCall { request, calls: calls.clone() };
            let end = call.end().await;
            if end.is_recorded {
                let call = end.record.id;
                let effect = end.record.effect;
                warn!(%call, ?effect, "ended a call whose caller is gone");
            } else {
                left.push(call);
            }
        }
        Self(left)
    }

    /// Ends each of its calls in a task of its own, as soon as the store takes that. Until then the
    /// session of a call does not wake, as while the call ran.
    pub fn end_later(self, sessions: &SessionRegistry, tasks: &TaskTracker) {
        for call in self.0 {
            let DispatchRequest { session, user, .. } = &*call.request;
            let slot = sessions.slot(session, user, &call.calls.limits);
            let held = slot.and_then(|slot| slot.begins_asleep());
            tasks.spawn(async move {
                if call.end_later(None).await {
                    let call = call.request.call.id;
                    warn!(%call, "ended a call whose caller is gone, as soon as the store took that");
                }
                drop(held);
            });
        }
    }
}
