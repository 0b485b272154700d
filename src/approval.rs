//! Approval: how a person confirms a tool's effect before it happens.
//!
//! A [`Question`] shows the very arguments that will run. A [`Decision`] answers it, by
//! [`Session::answer`](crate::Session::answer) or, for a call without a model, by [`Confirm`]. Exactly one [`Answer`]
//! counts, and only to the [`Digest`] that was shown. A standing approval is a [`Grant`].

pub use madang_actors::protocol::{
    Answer, Approval, Asker, Decision, Digest, Grant, Question, Shown,
};

pub use crate::call::Confirm;
