//! A call without a model: an application asks for it, and no turn follows it.
//!
//! [`DirectCalls::begin`] puts the call into a session of its own, or after the last entry of a
//! sleeping one (`position`), and the dispatcher brings it to its end as it does with a model's
//! call. The caller reads requests, progress and the end from a [`RunningCall`], through what all
//! handles of the call share (`shared_call`). A call with a key begins once (`keyed`).
//!
//! `open_call` ends what no pipeline will end. Like the recovery of a turn, it reads in the ledger
//! how far the call came.
//!
//! Invariants:
//! - The callers of a call receive its end once. The ledger has it as soon as the store takes it.
//! - A session does not wake while its call runs, so the entries of the chat keep their order.
//! - A call with a key never runs a second time after the ledger has it.

mod begin;
mod end;
mod keyed;
mod open_call;
mod position;
mod report;
mod running_call;
mod shared_call;

pub use begin::{CallRequest, DirectCalls};
pub use open_call::AbandonedCalls;
pub use report::CallReport;
pub use running_call::RunningCall;
