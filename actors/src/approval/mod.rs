//! The ConfirmActor: open approval requests, their deadlines and the decisions about them. It runs
//! no call.
//!
//! A destructive call runs only after a person has approved exactly that call. This module finds
//! the one valid decision. The vocabulary ([`ApprovalRequest`](crate::protocol::ApprovalRequest),
//! [`Decision`](crate::protocol::Decision), [`ApprovalEnd`](crate::protocol::ApprovalEnd),
//! [`StandingApproval`](crate::protocol::StandingApproval)) is in `protocol`, and the dispatcher
//! records.
//!
//! Flow:
//! 1. A call makes its request durable, sends it as [`ConfirmMsg::Ask`] and waits for the reply.
//! 2. A person's decision comes through [`decide()`], which checks a message and edited arguments
//!    in the person's own task, and makes a [`CheckedDecision`].
//! 3. The actor sends the first decision that fits to the call and closes the request. Every later
//!    one is refused.
//! 4. The call records the decision, and then answers the person that it is valid.
//! 5. A request without a decision expires. A call that is dismissed withdraws its request.
//! 6. The call reports to the [`Inboxes`] that its request is open, and how it ended after that is
//!    recorded.
//!
//! Invariants:
//! - Exactly one decision about a request wins, and it is valid only after it is recorded.
//! - A decision is valid only for its request's user and digest. Another user or another text is
//!   refused, and the request stays open.
//! - Nothing stays open forever: a request expires at its time, which the ledger has too.
//! - The table of requests is pure. If the actor dies, each call asks again, and the ledger has all
//!   that must not be lost.
//! - The inboxes are not a part of the actor. Its death ends no request and leaves none open in
//!   them.

mod actor;
mod checked_decision;
mod decide;
mod inbox_item;
mod inbox_table;
mod inboxes;
mod msg;
mod pending;
#[cfg(test)]
mod tests;

pub use actor::ConfirmActor;
pub use checked_decision::CheckedDecision;
pub use decide::decide;
pub use inbox_item::InboxItem;
pub use inboxes::{InboxReader, Inboxes};
pub use msg::ConfirmMsg;
