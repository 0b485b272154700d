//! Starts a StoreActor without a runtime, to try a store under group commit and leases.

use std::sync::Arc;

use ractor::Actor;
use tokio_util::task::TaskTracker;

use madang_actors::{
    mailbox::Address,
    port::Store,
    protocol::Limits,
    store::{Jobs, StoreActor, StoreArguments, StoreHandle},
};

/// Starts a StoreActor for this store. Its writer tasks run in the tracker, and no supervisor
/// restarts it.
///
/// # Panics
/// Panics if the actor does not start, which only a lack of memory can cause.
pub async fn lone_store(store: Arc<dyn Store>, limits: Limits, tasks: TaskTracker) -> StoreHandle {
    let limits = Arc::new(limits);
    let arguments = StoreArguments {
        store: store.clone(),
        limits: limits.clone(),
        tasks,
        health: Arc::default(),
        jobs: Jobs::new(store.writers(), &limits),
    };
    let jobs = arguments.jobs.clone();
    let (actor, _) = Actor::spawn(None, StoreActor, arguments).await.expect("a StoreActor starts");
    StoreHandle::new(Address::new(actor), jobs, store, &limits)
}
