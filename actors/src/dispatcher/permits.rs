//! The permits that a call takes before its handler begins: first that of its resource, then that
//! of its tool.
//!
//! The order is always the same: a call that holds a permit of a tool waits for no resource. So
//! calls cannot wait for one another in a circle, and a tool whose calls wait for one resource
//! still runs on all others. While it waits, a call holds nothing of the store.

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
    cancellation::Interruption,
    keyed_semaphore::{KeyedSemaphore, WaiterId},
};
use crate::{port::Resource, registry::ToolRegistry};

/// The permits of a runtime's tools and of the resources that they work on.
#[derive(Debug)]
pub(super) struct Permits {
    by_tool: HashMap<Arc<str>, Arc<Semaphore>>,
    by_resource: Shared,
}

type Shared = Arc<Mutex<KeyedSemaphore<Closed>>>;

/// Keeps one call waiting. Dropping it lets the call in, which may have given up just now.
type Closed = oneshot::Sender<Infallible>;

/// The permits that a call may hold while its handler runs.
#[derive(Debug)]
#[must_use = "dropped, the next one begins"]
pub(super) struct Held {
    // Fields are dropped in this order.
    _tool: Option<OwnedSemaphorePermit>,
    _resource: Option<KeyedPermit>,
}

/// A reason why a call does not get its permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPermit {
    /// No permit was free in time.
    Late,
    /// The call was cancelled.
    Cancelled(Interruption),
}

impl Permits {
    pub(super) fn new(registry: &ToolRegistry) -> Self {
        let bounded = registry.iter().filter_map(|tool| {
            let spec = tool.spec();
            Some((spec.name.clone(), Arc::new(Semaphore::new(spec.max_concurrent?))))
        });
        Self { by_tool: bounded.collect(), by_resource: Shared::default() }
    }

    /// Waits for the permits of a call of this tool for at most `patience`, or until the call is
    /// cancelled. A handler that passed its deadline keeps its own permits.
    pub(super) async fn take(
        &self,
        tool: &str,
        resource: Option<Resource>,
        patience: Duration,
        cancelled: impl Future<Output = Interruption>,
    ) -> Result<Held, NoPermit> {
        let of_tool = self.by_tool.get(tool);
        if resource.is_none() && of_tool.is_none() {
            return Ok(Held { _tool: None, _resource: None });
        }
        let both = async {
            let of_resource = match resource {
                Some(resource) => Some(self.acquire(resource).await),
                None => None,
            };
            let of_tool = match of_tool {
                // The semaphore is never closed.
                Some(permits) => permits.clone().acquire_owned().await.ok(),
                None => None,
            };
            Held { _tool: of_tool, _resource: of_resource }
        };
        tokio::select! {
            biased;
            held = timeout(patience, both) => held.map_err(|_| NoPermit::Late),
            interruption = cancelled => Err(NoPermit::Cancelled(interruption)),
        }
    }

    /// Waits for a resource, after all earlier calls.
    async fn acquire(&self, resource: Resource) -> KeyedPermit {
        let (closed, entrance) = oneshot::channel();
        let permit = KeyedPermit::enter(&self.by_resource, resource, closed);
        let Err(_opened) = entrance.await;
        permit
    }

    /// Counts the resources that calls work on or wait for.
    #[cfg(test)]
    pub(super) fn resources(&self) -> usize {
        self.by_resource.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// A permit for a resource, or the wait for one; dropping it ends both.
#[derive(Debug)]
struct KeyedPermit {
    semaphore: Shared,
    resource: Resource,
    id: WaiterId,
}

impl KeyedPermit {
    fn enter(semaphore: &Shared, resource: Resource, closed: Closed) -> Self {
        let (id, let_in) =
            semaphore.lock().unwrap_or_else(PoisonError::into_inner).enter(&resource, closed);
        drop(let_in);
        Self { semaphore: semaphore.clone(), resource, id }
    }
}

impl Drop for KeyedPermit {
    fn drop(&mut self) {
        let let_in = self
            .semaphore
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .leave(&self.resource.key, self.id);
        drop(let_in);
    }
}
