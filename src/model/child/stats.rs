//! What happened to the processes of a model.

/// Counts what has happened to the processes of a [`ChildModel`](super::ChildModel).
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
    /// The id of the running process, if one runs.
    pub process: Option<u32>,
}
