//! The places that a call takes before its handler begins: first that of its resource, then that of its tool.
//!
//! Always in this order: whoever has a place of a tool waits for no resource, so calls cannot wait for one another in a
//! circle, and a tool whose calls wait for one resource still runs on all others. While it waits, a call holds nothing
//! of the store.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};

use super::{
    Around,
    clear::ClearedCall,
    lines::{Lines, Ticket},
};
use crate::{port::Resource, registry::ToolRegistry};

/// The places of a runtime's tools and of what they work on.
#[derive(Debug)]
pub(super) struct Places {
    by_tool: HashMap<Arc<str>, Arc<Semaphore>>,
    by_resource: Shared,
}

type Shared = Arc<Mutex<Lines<Closed>>>;

/// Keeps one call waiting. Dropped, it lets the call in; the call may have given up just now.
type Closed = oneshot::Sender<Infallible>;

/// What a call may hold while its handler runs.
#[derive(Debug)]
#[must_use = "dropped, the next one begins"]
pub(super) struct Held {
    // In this order they are given back.
    _tool: Option<OwnedSemaphorePermit>,
    _resource: Option<Stay>,
}

/// Why a call does not get its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPlace {
    /// None was free in time.
    Late,
    /// Its turn was dismissed.
    Dismissed,
    /// It is left where the ledger has it.
    Left,
}

/// Waits for a call's places for at most `patience`. A handler that passed its deadline keeps its own.
pub(super) async fn take(
    cleared: &ClearedCall,
    around: &Around,
    patience: Duration,
) -> Result<Held, NoPlace> {
    let checked = cleared.checked();
    let (request, tool) = (checked.request(), checked.tool());
    let resource = tool.tool().resource(checked.arguments(), &around.context(request));
    let places = &around.places;
    if resource.is_none() && !places.by_tool.contains_key(&tool.spec().name) {
        return Ok(Held { _tool: None, _resource: None });
    }
    let both = async {
        let stay = match resource {
            Some(resource) => Some(places.stay(resource).await),
            None => None,
        };
        let place = match places.by_tool.get(&tool.spec().name) {
            // Closed by nobody.
            Some(places) => places.clone().acquire_owned().await.ok(),
            None => None,
        };
        Held { _tool: place, _resource: stay }
    };
    // Nor does an approval wait for longer than it counts.
    let patience = patience.min(cleared.usable_for(around.clock.now()));
    tokio::select! {
        biased;
        held = timeout(patience, both) => held.map_err(|_| NoPlace::Late),
        // An answer that was told to count does count.
        () = request.dismissal.stopped(), if !cleared.is_approved() => Err(NoPlace::Dismissed),
        () = request.leave.cancelled() => Err(NoPlace::Left),
    }
}

impl Places {
    pub(super) fn new(registry: &ToolRegistry) -> Self {
        let bounded = registry.iter().filter_map(|tool| {
            let spec = tool.spec();
            Some((spec.name.clone(), Arc::new(Semaphore::new(spec.max_concurrent?))))
        });
        Self { by_tool: bounded.collect(), by_resource: Shared::default() }
    }

    /// Waits for a resource, behind all that came before.
    async fn stay(&self, resource: Resource) -> Stay {
        let (closed, entrance) = oneshot::channel();
        let stay = Stay::enter(&self.by_resource, resource, closed);
        let Err(_opened) = entrance.await;
        stay
    }

    /// How many resources are worked on or waited for.
    #[cfg(test)]
    pub(super) fn resources(&self) -> usize {
        self.by_resource.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// One stay in the line of a resource; dropped, it is left.
#[derive(Debug)]
struct Stay {
    lines: Shared,
    resource: Resource,
    ticket: Ticket,
}

impl Stay {
    fn enter(lines: &Shared, resource: Resource, closed: Closed) -> Self {
        let (ticket, let_in) =
            lines.lock().unwrap_or_else(PoisonError::into_inner).enter(&resource, closed);
        drop(let_in);
        Self { lines: lines.clone(), resource, ticket }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let let_in = self
            .lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .leave(&self.resource.key, self.ticket);
        drop(let_in);
    }
}
