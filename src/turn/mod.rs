//! Turns: the events of a turn, its outcome, and its status by its id.
//!
//! [`Session::send`](crate::Session::send) returns a [`Turn`](crate::Turn).
//! [`Turn::events`](crate::Turn::events) returns a [`TurnEvents`] stream, and
//! [`Turn::outcome`](crate::Turn::outcome) waits for a [`TurnOutcome`]. On any device,
//! [`Session::turn_status`](crate::Session::turn_status) returns the [`TurnStatus`] of a turn by
//! its id, and [`Session::dismiss_turn`](crate::Session::dismiss_turn) dismisses that turn: at any
//! time, or only while its question is open ([`When`]).

pub(crate) mod handle;
pub(crate) mod status;

pub use handle::{BETWEEN_MESSAGES, Dismissed, TurnEvents, TurnOutcome, append_message};
pub use madang_actors::session::{TurnEnd, When};
pub use status::{TurnPhase, TurnStatus};
