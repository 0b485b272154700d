//! Remote tools for the chats of a process that is killed: an MCP server that outlives it.
//!
//! The driver of [`kill`](crate::kill) has the `server`, which answers, hangs, fails and breaks
//! connections, and keeps a book of the calls that it received. It kills the child at random
//! moments, at points, and while the server has a call. `far` is the child's way to it, `plan` says
//! what the model asks for, and `compare` holds the ledger against the book after each death.
//!
//! ```text
//! driver <--what people were told-- child --SQLite--> file
//!   |                                 |                 |
//! server <----------calls-------------'                 |
//!   '--book--> compare <--------- after SIGKILL --------'
//! ```
//!
//! Invariants:
//! - A call is in the book before it is answered, and its work is done by then or never.
//! - What a dead child had sent is in the book before anything is compared.

mod compare;
mod far;
mod plan;
mod server;

use std::time::Duration;

pub(crate) use compare::compare;
pub(crate) use far::Far;
pub use far::FarOrders;
pub(crate) use server::{ServerMoment, ToolServer};

/// The revision of the protocol that the server speaks.
const VERSION: &str = "2026-07-28";

/// The time that a call may take.
const DEADLINE: Duration = Duration::from_millis(300);
