//! What surrounds every call of a runtime.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::msg::DispatchRequest;
use crate::{
    admission::Admission,
    confirm::ConfirmMsg,
    mailbox::Address,
    port::{Clock, Extensions, ToolContext},
    protocol::Limits,
    registry::ToolRegistry,
    store::StoreHandle,
};

/// What surrounds every call of a runtime.
#[derive(Debug)]
pub struct Around {
    /// The tools.
    pub registry: Arc<ToolRegistry>,
    /// The bounds.
    pub limits: Arc<Limits>,
    /// Where calls are recorded.
    pub store: StoreHandle,
    /// Where questions are asked.
    pub confirm: Address<ConfirmMsg>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// What the embedder put in.
    pub extensions: Extensions,
    /// Running calls outlive whoever asked; shutdown waits for them.
    pub tasks: TaskTracker,
    /// Who is let in: shared by all that a runtime counts.
    pub admission: Admission,
    /// The places of tools that bound how many of their handlers run at once.
    by_tool: HashMap<Arc<str>, Arc<Semaphore>>,
}

impl Around {
    /// Collects what surrounds the calls of a runtime.
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
        let bounded = registry.iter().filter_map(|tool| {
            let spec = tool.spec();
            Some((spec.name.clone(), Arc::new(Semaphore::new(spec.max_concurrent?))))
        });
        let (by_tool, admission) = (bounded.collect(), Admission::new(&limits));
        Self { registry, limits, store, confirm, clock, extensions, tasks, admission, by_tool }
    }

    /// The places of a tool that bounds how many of its handlers run at once.
    pub(super) fn places_of(&self, tool: &str) -> Option<Arc<Semaphore>> {
        self.by_tool.get(tool).cloned()
    }

    /// What a handler is told of its call.
    pub(super) fn context(&self, request: &DispatchRequest) -> ToolContext {
        ToolContext {
            session: request.session.clone(),
            user: request.user.clone(),
            call: request.call.id,
            locale: request.locale,
            time_zone: request.time_zone.clone(),
            clock: self.clock.clone(),
            cancelled: request.cancelled.clone(),
            extensions: self.extensions.clone(),
        }
    }
}
