//! What the mirror did, and why it could not.
use std::{io, path::PathBuf};

use madang_actors::port::StoreError;

use super::super::repository::NotesError;

/// What was done. Paths are relative to the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that were written.
    pub written: Vec<String>,
    /// Files whose edits became the page.
    pub imported: Vec<String>,
    /// Edits that are kept beside, under these names, because the page had changed as well or cannot become them.
    pub kept_beside: Vec<String>,
    /// Pages that have no file because something else stands at its place: a link, a folder. It was not touched.
    pub blocked: Vec<String>,
    /// Files that could not be read or written. They are tried again.
    pub failed: Vec<String>,
}

impl Report {
    pub(super) fn add(&mut self, more: Self) {
        self.written.extend(more.written);
        self.imported.extend(more.imported);
        self.kept_beside.extend(more.kept_beside);
        // Of what stands in the way, the last look counts.
        self.blocked = more.blocked;
        self.failed = more.failed;
    }
}

/// Why the mirror could not go on. What it had not written is still marked.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The folder cannot be used.
    #[error("failed to open the workspace {}", path.display())]
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
