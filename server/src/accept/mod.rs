//! Accepts connections: the listeners, the loop over them, the bounds of a connection, and the
//! steps to the end.
//!
//! `axum::serve` sets no timer, so half a head or an idle connection would stay forever. The loop
//! here limits the time of a head and the number of connections, and ends a connection whose peer
//! does not read.
//!
//! **Flow.** A `listener` is a socket: of an address, of a Unix socket, or one that the process was
//! given. `socket` sets the options of a TCP connection. `connection` takes a permit for it, and
//! shakes hands if the listener has a certificate (`tls`). Then it serves HTTP/1.1 within a `stall`
//! guard, and notes the `peer` in each request. If there is no permit, the oldest idle connection
//! gives way (`open_connections`). If none is idle, the new connection is answered 503, or closed
//! if it is one with TLS.
//!
//! **Invariants.**
//! - A connection without a permit costs at most one short answer, and the number of these is
//!   bounded too.
//! - A client without a credential cannot hold a connection that others need. Only requests of
//!   callers make one busy.
//! - A write that waits longer than `stall_timeout` for the peer ends its connection.
//! - `drain` has two steps, and each is taken once. First no new work begins, then all work has
//!   ended.
//! - A listener that is not local serves no clear text, unless the public URL is that of a proxy
//!   with TLS. `Server` checks this.

pub(crate) mod connection;
pub(crate) mod drain;
pub(crate) mod listener;
pub(crate) mod open_connections;
pub(crate) mod peer;
pub(crate) mod socket;
pub(crate) mod stall;
#[cfg(feature = "tls")]
pub(crate) mod tls;
