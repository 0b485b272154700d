//! Turns: what a turn tells while it runs, and how it stands when a caller asks by its id.
//!
//! [`Session::send`](crate::Session::send) gives a [`Turn`](crate::Turn), and [`Turn::events`](crate::Turn::events) a
//! [`TurnEvents`] stream. From any device [`Session::turn_status`](crate::Session::turn_status) gives the [`TurnStatus`] of a
//! turn by its id. [`Session::dismiss_turn`](crate::Session::dismiss_turn) dismisses that turn: at any time, or only while
//! its question is open ([`When`]).

pub(crate) mod handle;
pub(crate) mod status;

pub use handle::{Dismissed, TurnEvents};
pub use madang_actors::session::When;
pub use status::{TurnPhase, TurnStatus};
