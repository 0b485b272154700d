//! kill -9: kills a child with many chats on one file, again and again, and compares its oracle
//! with the database each time.
//!
//! The `driver` starts a `child` with the oracle of the earlier ones, and writes each line that it
//! reports into the oracle. Deaths come at random moments and at chosen points. Children that start
//! later begin with the database and the oracle of those before. The last child of a file lives
//! until everything is at rest. The tools of its chats may be those of a [remote](crate::remote)
//! server.
//!
//! ```text
//! driver --lines of earlier children--> child --SQLite--> file
//!    ^------------- new lines -------------'                |
//!    '---------------- audit after SIGKILL -----------------'
//! ```
//!
//! Invariants:
//! - A child reports a fact at the moment at which a person would know it, never later.
//! - The seed decides plans and deaths; the scheduling of threads is the machine's.

mod child;
mod driver;

use crate::audit::Findings;

pub use child::{Orders, live};
pub use driver::{Campaign, Remote};

/// The figures of a campaign.
#[derive(Debug, Clone, Default)]
pub struct KillFigures {
    /// Children that died by SIGKILL.
    pub kills: u64,
    /// Of these, children with a chosen point.
    pub kills_at_points: u64,
    /// Children that died while a remote server had a call, or right behind its answer.
    pub kills_in_calls: u64,
    /// Databases.
    pub files: u64,
    /// The calls that remote servers received.
    pub received: usize,
    /// The remote calls whose effect was unknown at first.
    pub unknown: usize,
    /// Effects that were acknowledged before a death.
    pub acknowledged: usize,
    /// The broken promises.
    pub findings: Findings,
}

impl KillFigures {
    /// Adds the figures of another campaign.
    pub fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.kills_at_points += other.kills_at_points;
        self.kills_in_calls += other.kills_in_calls;
        self.files += other.files;
        self.received += other.received;
        self.unknown += other.unknown;
        self.acknowledged += other.acknowledged;
        self.findings.add(other.findings);
    }
}
