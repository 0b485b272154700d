//! What surrounds every call of a runtime.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::msg::DispatchRequest;
use crate::{
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
    places: Places,
}

/// How many calls may run: in all, and of each tool that bounds itself.
#[derive(Debug)]
struct Places {
    all: Arc<Semaphore>,
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
        let all = Arc::new(Semaphore::new(limits.max_running_calls));
        let bounded = registry.iter().filter_map(|tool| {
            let spec = tool.spec();
            Some((spec.name.clone(), Arc::new(Semaphore::new(spec.max_concurrent?))))
        });
        let places = Places { all, by_tool: bounded.collect() };
        Self { registry, limits, store, confirm, clock, extensions, tasks, places }
    }

    /// The places of all calls: a call holds one from its beginning to its end.
    pub(super) fn places(&self) -> &Arc<Semaphore> {
        &self.places.all
    }

    /// The places of a tool that bounds how many of its handlers run at once.
    pub(super) fn places_of(&self, tool: &str) -> Option<Arc<Semaphore>> {
        self.places.by_tool.get(tool).cloned()
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
