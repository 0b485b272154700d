//! The end of a call without a model: its callers hear it once, and the ledger has it as soon as the store takes it.

use std::sync::{Arc, Mutex, PoisonError};

use madang_actors::{
    dispatcher::{CallEnd, DispatcherEvent},
    mailbox::Recipient,
};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::{direct_call::DirectCall, open_call::OpenCall};

/// What the end of a call needs.
#[derive(Debug, Clone)]
pub(crate) struct CallEnding {
    pub(crate) begun: Arc<DirectCall>,
    pub(crate) call: OpenCall,
}

impl CallEnding {
    /// Hears the end of a call, and drops what is held before it tells an end that the ledger has. Where the pipeline was
    /// lost, a task in `tasks` reads the end from the ledger, or records it.
    ///
    /// Where the store did not take the end of a call that the ledger has, the callers hear it without that. What is held
    /// is dropped once the ledger has an end: a session that woke earlier would not show the call.
    pub(crate) fn hears(
        self,
        tasks: TaskTracker,
        held: impl Send + 'static,
    ) -> Recipient<DispatcherEvent> {
        // Taken here: the end may be told where no task can be spawned, because its threads end.
        let threads = Handle::current();
        let held = Mutex::new(Some(held));
        Recipient::function(move |event| {
            let held = held.lock().unwrap_or_else(PoisonError::into_inner).take();
            let end = match event {
                DispatcherEvent::Ended(end) if end.is_recorded => {
                    drop(held);
                    self.begun.ended(end);
                    return true;
                }
                DispatcherEvent::Ended(end) => Some(end),
                DispatcherEvent::ApprovalRequested { .. }
                | DispatcherEvent::ApprovalEnded { .. }
                | DispatcherEvent::Left { .. }
                | DispatcherEvent::Lost { .. } => None,
            };
            tasks.spawn_on(self.clone().tell(end, held), &threads);
            true
        })
    }

    /// Tells an end that the ledger may not have; `None` where the pipeline was lost.
    async fn tell(self, end: Option<CallEnd>, held: impl Send) {
        let end = match end {
            Some(end) => end,
            None => self.call.end().await,
        };
        if end.is_recorded || matches!(self.call.is_open().await, Ok(false)) {
            drop(held);
            self.begun.ended(end);
        } else {
            self.begun.ended(end);
            self.record_later().await;
            drop(held);
        }
    }

    /// Tries with growing pauses to record an end, until the ledger has one or the runtime shuts down. The next start ends
    /// the call then.
    async fn record_later(&self) {
        for failures in 0.. {
            if self.call.runtime_ends_within_pause(failures).await {
                return;
            }
            // Until this is dropped, no other caller begins the call of the key anew.
            let running = match &self.begun.entry {
                Some(entry) => Some(entry.running().await),
                None => None,
            };
            if running.as_ref().is_some_and(|running| running.as_ptr() != Arc::as_ptr(&self.begun))
            {
                return; // one has, and the open call in the ledger is its own
            }
            if self.call.has_ended().await {
                return;
            }
        }
    }
}
