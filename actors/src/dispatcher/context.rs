//! The context that all calls of a runtime share.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{kept_ends::KeptEnds, msg::DispatchRequest, permits::Permits};
use crate::{
    admission::Admission,
    approval::{ConfirmMsg, Inboxes},
    mailbox::Address,
    port::{Clock, Extensions, ProgressReporter, ToolContext},
    protocol::{CallId, Languages, Limits},
    registry::ToolRegistry,
    store::StoreHandle,
};

/// Holds what all calls of a runtime share.
#[derive(Debug)]
pub struct CallContext {
    /// The tools by name.
    pub registry: Arc<ToolRegistry>,
    /// The bounds that the application set for the runtime.
    pub limits: Arc<Limits>,
    /// The store in which calls are recorded.
    pub store: StoreHandle,
    /// The actor that holds the open approval requests.
    pub confirm: Address<ConfirmMsg>,
    /// The inboxes to which approval requests are reported.
    pub inboxes: Inboxes,
    /// The languages in which persons read of calls.
    pub languages: Languages,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// The values that the application passed in.
    pub extensions: Extensions,
    /// The tracker of running calls, which outlive their callers. Shutdown waits for them.
    pub tasks: TaskTracker,
    /// Cancelled when the runtime ends.
    pub closing: CancellationToken,
    /// The permits of users, shared with the rest of the runtime.
    pub admission: Admission,
    /// The permits of tools, and of the resources that they work on.
    pub(super) permits: Permits,
    /// The ends of handlers that the store has not taken yet.
    pub(super) kept_ends: KeptEnds,
    handlers: Handlers,
}

/// The calls whose handlers run and may have effects outside of the store. Each of them holds a
/// permit.
#[derive(Debug, Clone, Default)]
struct Handlers(Arc<Mutex<HashSet<CallId>>>);

/// While it lives, the handler of this call runs, or its effect is being recorded.
#[derive(Debug)]
#[must_use = "dropped, it says that the handler has ended"]
pub(super) struct HandlerRuns {
    handlers: Handlers,
    call: CallId,
}

impl Handlers {
    fn running(&self) -> MutexGuard<'_, HashSet<CallId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HandlerRuns {
    fn drop(&mut self) {
        self.handlers.running().remove(&self.call);
    }
}

impl CallContext {
    /// Collects what the calls of a runtime share.
    #[must_use]
    pub fn new(
        registry: Arc<ToolRegistry>,
        limits: Arc<Limits>,
        store: StoreHandle,
        confirm: Address<ConfirmMsg>,
        clock: Arc<dyn Clock>,
        extensions: Extensions,
        tasks: TaskTracker,
    ) -> Self {
        let permits = Permits::new(&registry);
        let admission = Admission::new(&limits);
        let inboxes = Inboxes::new(&limits);
        Self {
            registry,
            limits,
            store,
            confirm,
            inboxes,
            languages: Languages::default(),
            clock,
            extensions,
            tasks,
            closing: CancellationToken::new(),
            admission,
            permits,
            kept_ends: KeptEnds::default(),
            handlers: Handlers::default(),
        }
    }

    /// Sets the languages of its texts.
    #[must_use]
    pub fn speaking(self, languages: Languages) -> Self {
        Self { languages, ..self }
    }

    /// Notes that a handler begins that may have effects outside of the store.
    pub(super) fn handler_begins(&self, call: CallId) -> HandlerRuns {
        self.handlers.running().insert(call);
        HandlerRuns { handlers: self.handlers.clone(), call }
    }

    /// Returns whether a handler of this call runs that will itself report its effect outside of
    /// the store.
    #[must_use]
    pub fn is_running(&self, call: CallId) -> bool {
        self.handlers.running().contains(&call)
    }

    /// Makes the context of a handler.
    pub(super) fn tool_context(&self, request: &DispatchRequest) -> ToolContext {
        let readers = request.progress.clone();
        let pass = move |report| {
            // A report after the end of its call has no reader.
            let _ = readers.tell(report);
        };
        let Limits { max_progress_bytes, progress_pause, .. } = *self.limits;
        ToolContext {
            session: request.session.clone(),
            user: request.user.clone(),
            call: request.call.id,
            locale: request.locale,
            time_zone: request.time_zone.clone(),
            clock: self.clock.clone(),
            cancelled: request.cancellation.handler(),
            progress: ProgressReporter::new(pass, max_progress_bytes, progress_pause),
            extensions: self.extensions.clone(),
        }
    }
}
