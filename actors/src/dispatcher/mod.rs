//! The DispatcherActor and the running call: check, authorize, run. Every call ends in exactly one outcome.
//!
//! The order is a compile error to break: only `check` makes a `CheckedCall`, only `authorize` an
//! `AuthorizedCall`, and only that one can run.

mod actor;
mod around;
mod authorize;
mod call;
mod check;
mod keyed_semaphore;
mod msg;
mod permits;
mod question;
mod record;
mod responder;
mod run;
#[cfg(test)]
mod tests;

pub use actor::DispatcherActor;
pub use around::CallContext;
pub use msg::{CallEnd, Dismissal, DispatchRequest, DispatcherEvent, DispatcherMsg};
pub use record::{end_lost, end_of_lost};
