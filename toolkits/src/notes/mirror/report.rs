//! What the mirror did, and why it could not.
use std::{collections::BTreeMap, io, path::PathBuf};

use madang::store::StoreError;

use super::super::repository::NotesError;

/// What was done. Paths are relative to the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MirrorReport {
    /// Files that were written.
    pub written: Vec<String>,
    /// Files that went where their pages have gone.
    pub moved: Vec<String>,
    /// Files that were taken away because their pages are gone.
    pub removed: Vec<String>,
    /// Files of removed pages that a person has changed since: they stay.
    pub left: Vec<String>,
    /// Files whose edits became the page.
    pub imported: Vec<String>,
    /// Edits that are kept beside, under these names, because the page had changed as well or cannot become them.
    pub kept_beside: Vec<String>,
    /// Pages that have no file because something else stands at its place: a link, a folder. It was not touched.
    pub blocked: Vec<String>,
    /// Files that could not be read or written. They are tried again.
    pub failed: Vec<String>,
}

/// What was done so far, and what stood in the way of each page at the last look at it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) written: Vec<String>,
    pub(super) moved: Vec<String>,
    pub(super) removed: Vec<String>,
    pub(super) left: Vec<String>,
    pub(super) imported: Vec<String>,
    pub(super) kept_beside: Vec<String>,
    /// By the number of the page.
    pub(super) blocked: BTreeMap<i64, String>,
    /// By the number of the page.
    pub(super) failed: BTreeMap<i64, String>,
    /// Files of pages that are gone which could not be taken away.
    pub(super) not_removed: Vec<String>,
}

impl Tally {
    /// The page is looked at once more: what stood in its way counts no longer.
    pub(super) fn look_at(&mut self, page: i64) {
        self.blocked.remove(&page);
        self.failed.remove(&page);
    }

    /// How much was done.
    pub(super) fn deeds(&self) -> usize {
        self.written.len() + self.moved.len() + self.imported.len() + self.kept_beside.len()
    }
}

impl From<Tally> for MirrorReport {
    fn from(tally: Tally) -> Self {
        let Tally { written, moved, removed, left, imported, kept_beside, .. } = tally;
        let failed = tally.failed.into_values().chain(tally.not_removed).collect();
        let blocked = tally.blocked.into_values().collect();
        Self { written, moved, removed, left, imported, kept_beside, blocked, failed }
    }
}

/// Why the mirror could not go on. What it had not written is still marked.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The folder cannot be used.
    #[error("failed to open or remove the workspace {}", path.display())]
    Workspace {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The folder is the workspace of other notes.
    #[error(
        "{} is the workspace of another user or database: give another folder",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// The store cannot be used.
    #[error("failed to read or mark what is to be written")]
    Store(#[source] StoreError),
    /// The tables cannot be used.
    #[error("failed to read or mark what is to be written")]
    Notes(#[source] NotesError),
    /// The threads for files are gone.
    #[error("the files were left alone because the program ends")]
    Ending,
    /// A test let the process end here.
    #[error("ended at a step")]
    Step(#[source] io::Error),
}

impl From<NotesError> for MirrorError {
    fn from(error: NotesError) -> Self {
        Self::Notes(error)
    }
}

impl From<StoreError> for MirrorError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
