//! What happened to the processes of a model.

use super::supervision::Counts;

/// Counts what happened to the processes of a [`ChildModel`](super::ChildModel).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildStats {
    /// Processes that were started.
    pub started: u64,
    /// Processes that ended or hung.
    pub died: u64,
    /// Completions that were sent to a second process.
    pub asked_again: u64,
    /// Completions that were refused because they ran when two processes ended.
    pub refused: u64,
    /// The running process.
    pub process: Option<u32>,
}

impl ChildStats {
    pub(super) const fn count(&mut self, counts: Counts) {
        let Counts { started, died, asked_again, refused } = counts;
        (self.started, self.died) = (started, died);
        (self.asked_again, self.refused) = (asked_again, refused);
    }
}
