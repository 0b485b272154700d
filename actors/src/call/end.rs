//! The end of a call without a model. Its callers receive it once, and the ledger has it as soon as
//! the store takes it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::{open_call::OpenCall, shared_call::SharedCall};
use crate::{
    dispatcher::{CallEnd, DispatcherEvent},
    mailbox::Recipient,
};

/// What the end of a call needs.
#[derive(Debug, Clone)]
pub(super) struct CallEnding {
    pub(super) shared: Arc<SharedCall>,
    pub(super) call: OpenCall,
}

impl CallEnding {
    /// Makes the recipient of the end. It drops what is held before it publishes an end that the
    /// ledger has. If the pipeline was lost, a task in `tasks` reads the end from the ledger, or
    /// records it.
    ///
    /// If the store did not take the end of a call that the ledger has, the callers receive the end
    /// anyway. What is held is dropped only after the ledger has an end, because a session that
    /// woke earlier would not show the call.
    pub(super) fn recipient(
        self,
        tasks: TaskTracker,
        held: impl Send + 'static,
    ) -> Recipient<DispatcherEvent> {
        // Taken here: the end may come when no task can be spawned, because its threads end.
        let threads = Handle::current();
        let held = Mutex::new(Some(held));
        Recipient::function(move |event| {
            let held = held.lock().unwrap_or_else(PoisonError::into_inner).take();
            let end = match event {
                DispatcherEvent::Ended(end) if end.is_recorded => {
                    drop(held);
                    self.shared.ended(end);
                    return true;
                }
                DispatcherEvent::Ended(end) => Some(end),
                DispatcherEvent::ApprovalRequested { .. }
                | DispatcherEvent::ApprovalEnded { .. }
                | DispatcherEvent::Left { .. }
                | DispatcherEvent::Lost { .. } => None,
            };
            tasks.spawn_on(self.clone().publish(end, held), &threads);
            true
        })
    }

    /// Publishes an end that the ledger may not have; `None` if the pipeline was lost.
    async fn publish(self, end: Option<CallEnd>, held: impl Send) {
        let end = match end {
            Some(end) => end,
            None => self.call.end().await,
        };
        if end.is_recorded || matches!(self.call.is_open().await, Ok(false)) {
            drop(held);
            self.shared.ended(end);
        } else {
            self.shared.ended(end);
            self.call.end_later(Some(&self.shared)).await;
            drop(held);
        }
    }
}
