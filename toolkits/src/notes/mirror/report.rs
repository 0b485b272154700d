//! Reports the work of the mirror, and why it failed.
use std::{collections::BTreeMap, io, path::PathBuf};

use madang::store::StoreError;

use super::super::repository::NotesError;

/// The work that was done. Paths are relative to the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MirrorReport {
    /// Written files.
    pub written: Vec<String>,
    /// Files that moved with their pages.
    pub moved: Vec<String>,
    /// Files that were removed with their pages.
    pub removed: Vec<String>,
    /// Files of deleted pages that a person changed; they stay.
    pub left: Vec<String>,
    /// Files whose edits became the page.
    pub imported: Vec<String>,
    /// Edits that are kept beside their pages, under these names: the page changed too, or cannot become the edit.
    pub kept_beside: Vec<String>,
    /// Pages without a file because a link, a folder or the like stands in its place, untouched.
    pub blocked: Vec<String>,
    /// Files that could not be read or written; they are tried again.
    pub failed: Vec<String>,
}

/// The work so far, and the last obstacle of each page.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The work itself; its obstacles come in at the end.
    pub(super) done: MirrorReport,
    /// By the number of the page.
    pub(super) blocked: BTreeMap<i64, String>,
    /// By the number of the page.
    pub(super) failed: BTreeMap<i64, String>,
    /// Files of deleted pages that could not be removed.
    pub(super) not_removed: Vec<String>,
}

impl Tally {
    /// Forgets the obstacle of a page that is looked at again.
    pub(super) fn look_at(&mut self, page: i64) {
        self.blocked.remove(&page);
        self.failed.remove(&page);
    }

    /// Counts the work done.
    pub(super) fn deeds(&self) -> usize {
        let MirrorReport { written, moved, imported, kept_beside, .. } = &self.done;
        written.len() + moved.len() + imported.len() + kept_beside.len()
    }
}

impl From<Tally> for MirrorReport {
    fn from(tally: Tally) -> Self {
        let failed = tally.failed.into_values().chain(tally.not_removed).collect();
        Self { blocked: tally.blocked.into_values().collect(), failed, ..tally.done }
    }
}

/// The reason why the mirror stopped. Unwritten pages stay marked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// The folder cannot be used.
    #[error("failed to open or remove the workspace {}", path.display())]
    Workspace {
        /// The folder of the workspace.
        path: PathBuf,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
    /// The folder is the workspace of another user or database.
    #[error(
        "{} is the workspace of another user or database: give another folder",
        path.display()
    )]
    Foreign {
        /// The folder of the workspace.
        path: PathBuf,
    },
    /// The store failed.
    #[error("failed to read or mark what is to be written")]
    Store(#[from] StoreError),
    /// The tables could not be read or written.
    #[error("failed to read or mark what is to be written")]
    Notes(#[from] NotesError),
    /// The program ends, so the threads for files are gone.
    #[error("the files were left alone because the program ends")]
    Ending,
    /// A test ended the process at this step.
    #[error("ended at a step")]
    Step(#[source] io::Error),
}

impl From<sqlx::Error> for MirrorError {
    fn from(error: sqlx::Error) -> Self {
        Self::Notes(error.into())
    }
}
