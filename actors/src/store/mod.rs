//! The StoreActor: one queue before the store's writer, commits in groups, and the lease of the open transaction.
//!
//! What waits stands beside the actor, which only starts writers, so that it can die. A tracked writer task begins a
//! transaction, lets each job be undone by itself, commits once, and only then answers all. What queues up during a commit
//! is the next group; nobody waits for a group to fill.

mod actor;
mod handle;
mod health;
mod jobs;
mod lease;
mod msg;
mod part;
mod pending_batch;
mod queue;
mod reply;
mod stage;
mod write_batch;
mod writer;

#[cfg(test)]
mod tests;

pub use actor::{StoreActor, StoreArguments};
pub use handle::StoreHandle;
pub use health::WriterHealth;
pub use jobs::Jobs;
pub use lease::{Keep, Lease};
pub use msg::{LeaseJob, StoreJob, StoreMsg, WriteJob};
pub use reply::ReplySender;
