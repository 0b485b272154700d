//! kill -9: a child with many chats on one file is killed, started again and killed again; its oracle and its database are
//! compared each time.

mod child;
mod driver;

use crate::audit::Findings;

pub use child::{Orders, live};
pub use driver::Campaign;

/// What a campaign found.
#[derive(Debug, Clone, Default)]
pub struct KillFigures {
    /// Children that died by SIGKILL.
    pub kills: u64,
    /// Of these, those whose death was set at a point.
    pub kills_at_points: u64,
    /// Databases.
    pub files: u64,
    /// Effects that were acknowledged before somebody died.
    pub acknowledged: usize,
    /// What is wrong.
    pub findings: Findings,
}

impl KillFigures {
    /// Adds those of another campaign.
    pub fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.kills_at_points += other.kills_at_points;
        self.files += other.files;
        self.acknowledged += other.acknowledged;
        self.findings.add(other.findings);
    }
}
