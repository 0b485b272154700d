//! Streams Server-Sent Events: one body for all surfaces, and a pure mapper for each.
//!
//! **Flow.** A handler takes a permit (`permits`) and opens a stream. `body` reads the items of a
//! session, a turn or an inbox, and keeps the pace. `pieces` cuts long texts and replaces data that
//! is too large. The `mapper` of the surface writes each piece as frames (`frame`), and `outlet`
//! passes their bytes to the connection:
//!
//! ```text
//! items -> body -> pieces -> mapper -> frame -> outlet -> connection
//! ```
//!
//! `missed` looks at the chat again after a slow reader has lost an approval request.
//!
//! **Invariants.**
//! - A mapper has no clock and awaits nothing, so a table of items and frames tests it.
//! - The body reads the next item only after the connection has taken the last one, so a slow
//!   reader accumulates nothing here.
//! - After a silence of `keep_alive` a comment is sent, so that no proxy closes the stream.
//! - A stream ends with its credential, with the server, or after `stream_life`. The mapper writes
//!   the reason (`Cut`), and when to reconnect.

pub(crate) mod body;
pub(crate) mod frame;
pub(crate) mod mapper;
pub(crate) mod missed;
pub(crate) mod outlet;
pub(crate) mod permits;
pub(crate) mod pieces;
