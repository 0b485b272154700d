//! Approval: a destructive call runs only after a person's yes to exactly that call.
//!
//! An [`ApprovalRequest`] shows the very arguments that will run. A person's [`Decision`] about it comes through
//! [`Session::decide`](crate::Session::decide) or, from any device, through [`User::decide`](crate::User::decide); an
//! [`Inbox`] has the requests of a user in all sessions. A call without a model may have an [`Approver`]. Exactly one
//! decision counts, only by the request's user, and only for the [`Digest`] that was shown.
//! [`DecisionError`](crate::error::DecisionError) says why another does not. Each request has an [`ApprovalEnd`]. "Always" gives
//! a [`StandingApproval`], which covers later calls of the tool.

pub(crate) mod approver;
mod inbox;

pub use madang_actors::{
    approval::InboxItem,
    protocol::{ApprovalEnd, ApprovalRequest, Decision, Digest, StandingApproval},
};

pub use approver::Approver;
pub use inbox::Inbox;
