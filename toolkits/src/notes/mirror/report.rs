//! Reports the work of the mirror, and why it failed.
use std::{io, path::PathBuf};

use madang::store::StoreError;

use super::super::repository::NotesError;

/// What was done. Paths are relative to the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MirrorReport {
    /// Written files.
    pub written: Vec<String>,
    /// Files that were removed with their pages.
    pub removed: Vec<String>,
    /// Files of deleted or renamed pages that another program changed. They stay.
    pub left: Vec<String>,
    /// Files that the mirror did not write and that were at the places of pages. They have these
    /// names now.
    pub kept_beside: Vec<String>,
    /// Pages without a file because something other than a plain file, such as a link or a folder,
    /// is in its place. It is untouched.
    pub blocked: Vec<String>,
    /// Files that could not be read, written or removed. The mirror tries them again.
    pub failed: Vec<String>,
}

/// What a mirror reports when it has stopped.
#[derive(Debug, Default)]
#[must_use = "files that could not be written are said nowhere else"]
pub struct MirrorEnd {
    /// The files that were left or kept beside since the start, and those that are blocked or
    /// failed now.
    pub report: MirrorReport,
    /// The error that ended the last attempt.
    pub error: Option<MirrorError>,
}

/// Why the mirror stopped. Pages whose files are not written stay marked.
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
    /// The store failed.
    #[error("failed to read or record what is to be written")]
    Store(#[from] StoreError),
    /// The tables could not be read or written.
    #[error("failed to read or record what is to be written")]
    Notes(#[from] NotesError),
    /// The program ends, and its threads for files are gone.
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
