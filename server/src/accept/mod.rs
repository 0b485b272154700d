//! Accepting connections: listeners, the loop over them, what bounds a connection, and the way to the end.
//!
//! `axum::serve` sets no timer, so half a head and an idle connection would stay for ever. The loop here bounds the
//! time of a head and the number of connections, and ends a connection whose peer takes nothing.

pub(crate) mod connection;
pub(crate) mod drain;
pub(crate) mod listener;
pub(crate) mod peer;
pub(crate) mod socket;
pub(crate) mod stall;
#[cfg(feature = "tls")]
pub(crate) mod tls;
