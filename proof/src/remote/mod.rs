//! kill -9 around the calls of remote tools: a child's chats call the tools of an MCP server that outlives it.
//!
//! The `driver` has the `server`, which answers, hangs, fails and breaks connections, and keeps a book of the calls that it
//! received. It kills the `child` at random moments, at points, and while the server has a call. `plan` says what the
//! model asks for, and `compare` holds the ledger against the book after each death.
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

mod child;
mod compare;
mod driver;
mod plan;
mod server;

use std::time::Duration;

use crate::audit::Findings;

pub use child::{RemoteOrders, live};
pub use driver::RemoteCampaign;

/// The revision of the protocol that the server speaks.
const VERSION: &str = "2026-07-28";

/// The time that a call may take.
const DEADLINE: Duration = Duration::from_millis(300);

/// The figures of a campaign.
#[derive(Debug, Clone, Default)]
pub struct RemoteFigures {
    /// Children that died by SIGKILL.
    pub kills: u64,
    /// Of these, children that died while the server had a call, or right behind its answer.
    pub kills_in_calls: u64,
    /// Databases.
    pub files: u64,
    /// The calls that the server received.
    pub received: usize,
    /// The calls whose effect was unknown at first.
    pub unknown: usize,
    /// The effects that people were told.
    pub acknowledged: usize,
    /// The broken promises.
    pub findings: Findings,
}

impl RemoteFigures {
    /// Adds the figures of another campaign.
    pub fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.kills_in_calls += other.kills_in_calls;
        self.files += other.files;
        self.received += other.received;
        self.unknown += other.unknown;
        self.acknowledged += other.acknowledged;
        self.findings.add(other.findings);
    }
}
