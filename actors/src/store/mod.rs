//! The StoreActor: one queue for the store's writer, commits in groups, and the lease of the open
//! transaction.
//!
//! A caller sends a job through the [`StoreHandle`]: facts to write, or a request for a [`Lease`].
//! The actor starts a writer whenever a job waits and a writer is idle. A writer is a tracked task:
//! it begins a transaction, lets each job be undone by itself, commits once, and only then answers
//! all. Jobs that come during a commit are the next group.
//!
//! Invariants:
//! - The queue is kept outside of the actor, which only starts writers, so the actor can die
//!   without loss.
//! - A caller receives one result, and it stays true: a withdrawn job is never written, and a job
//!   that was answered with success is durable.
//! - None of a transaction's futures is ever dropped, and a lease returns however its borrower
//!   ends.
//! - A refused job undoes only itself. No job waits for a group to fill.

mod actor;
mod batch;
mod health;
mod lease;
mod msg;
mod queue;
mod reply;
mod stage;
mod writer;

#[cfg(test)]
mod tests;

pub use actor::{StoreActor, StoreArguments};
pub use health::WriterHealth;
pub use lease::{Keep, Lease};
pub use msg::{LeaseJob, StoreJob, StoreMsg, WriteJob};
pub use queue::{Jobs, StoreHandle};
pub use reply::ReplySender;
