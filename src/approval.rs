//! Approval: how a person confirms a tool's effect before it happens.
//!
//! An [`ApprovalRequest`] shows the very arguments that will run. A [`Decision`] answers it, by
//! [`Session::decide`](crate::Session::decide) or, for a call without a model, by [`Confirm`]. Exactly one [`Answer`]
//! counts, and only to the [`Digest`] that was shown. A standing approval is a [`StandingApproval`].

pub use madang_actors::protocol::{
    Answer, Approval, ApprovalRequest, Asker, Decision, Digest, Shown, StandingApproval,
};

pub use crate::call::Confirm;
