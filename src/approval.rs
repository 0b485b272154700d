//! Approval: a destructive call runs only after a person's yes to exactly that call.
//!
//! An [`ApprovalRequest`] shows the very arguments that will run. A person's [`Decision`] about it comes through
//! [`Session::decide`](crate::Session::decide) or, for a call without a model, from its [`Approver`]. Exactly one
//! decision counts, only by the request's user, and only for the [`Digest`] that was shown.
//! [`DecisionError`](crate::error::DecisionError) says why another does not. Each request has an [`ApprovalEnd`]. "Always" gives
//! a [`StandingApproval`], which covers later calls of the tool.

pub use madang_actors::protocol::{
    ApprovalEnd, ApprovalRequest, Decision, Digest, StandingApproval,
};

pub use crate::approver::Approver;
