//! The DispatcherActor and the running call: check, authorize, run. Every call ends in exactly one
//! outcome.
//!
//! The actor receives a [`DispatchRequest`], and sends a [`DispatcherEvent`] for each approval
//! request and for the end.
//!
//! - `check` looks the tool up and validates the arguments.
//! - `authorize` obtains an approval if the tool requires it, and records it. `ask` is the one way
//!   to wait for a person.
//! - `permits` takes the permits of resource and tool.
//! - `run` lends the handler its connection, waits for it until its deadline, and records the end.
//! - `kept_ends` holds the ends that the store did not take, and `late_end` writes them later.
//! - `call` holds these steps in a pair of actors, which turns a handler's panic into an outcome.
//!   It records the ends of calls that do not run.
//! - `cut_off` ends calls whose process died, and `lost_end` ends calls whose actors died.
//!
//! Invariants:
//! - The order is enforced by types: only `check` makes a `CheckedCall`, only `authorize` an
//!   `AuthorizedCall`, and only that one can run.
//! - An approval request is durable before a person is asked, and an approval before the handler
//!   begins.
//! - A transactional handler's writes and the record of its call share one commit.
//! - A handler without a connection is never dropped. After its deadline its caller is answered,
//!   and its real end is recorded.
//! - What such a handler did is recorded as it was, however long the store is away, unless this
//!   process ends before.
//!
//! The actor keeps no state but the running calls, so a restart of it loses none.

mod actor;
mod ask;
mod authorize;
mod call;
mod cancellation;
mod check;
mod context;
mod cut_off;
mod kept_ends;
mod keyed_semaphore;
mod late_end;
mod lost_end;
mod msg;
mod not_run;
mod permits;
mod record;
mod responder;
mod run;
#[cfg(test)]
mod tests;

pub use actor::DispatcherActor;
pub use cancellation::{CancelCause, Cancellation};
pub use context::CallContext;
pub use cut_off::{end_cut_off, ends_of_lost};
pub use lost_end::end_lost;
pub use msg::{CallEnd, DispatchRequest, DispatcherEvent, DispatcherMsg};
