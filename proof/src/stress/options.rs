//! The options of a run under stress.

use crate::mistakes::Mistake;

/// A run under stress.
#[derive(Debug, Clone)]
pub struct Stress {
    /// Sessions, eight of a user.
    pub sessions: usize,
    /// Turns of each session.
    pub turns: usize,
    /// Calls in each turn.
    pub tools: usize,
    /// The percentage of faults, of all places where a fault is possible.
    pub chaos: u8,
    /// The percentage of turns that are left, and of questions that stay open.
    pub dismiss: u8,
    /// The seed from which everything is drawn.
    pub seed: u64,
    /// Turns at once.
    pub in_flight: usize,
    /// The mistake that is made outside of the runtime.
    pub mistake: Option<Mistake>,
}
