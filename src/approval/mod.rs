//! Approval: a destructive call runs only after a person has approved exactly that call, or has
//! allowed later calls of its tool.
//!
//! An [`ApprovalRequest`] shows the very arguments that will run. A person sends a [`Decision`]
//! about it through [`Session::decide`](crate::Session::decide) or, from any device, through
//! [`User::decide`](crate::User::decide). An [`Inbox`] has the requests of a user in all sessions,
//! and a call without a model may have an [`Approver`].
//!
//! Exactly one decision is accepted. It must come from the request's user and name the [`Digest`]
//! that was shown. [`DecisionError`](crate::error::DecisionError) says why another is not. Each
//! request ends with an [`ApprovalEnd`]. An "always" creates a [`StandingApproval`], which covers
//! later calls of the tool.

pub(crate) mod approver;
mod inbox;

pub use madang_actors::{
    approval::InboxItem,
    protocol::{ApprovalEnd, ApprovalRequest, Decision, Digest, StandingApproval},
};

pub use approver::Approver;
pub use inbox::Inbox;
