//! Keeps the user's notes as Markdown files: `madang notes sync`, and the mirror beside a chat or a call.
//!
//! `files` compares, mirrors and clears by the toolkit's own mirror. On a system that is no Unix `elsewhere` takes its
//! place: it refuses `madang notes` and every named folder, and mirrors nothing.
//!
//! Invariant: without the toolkit `notes` no folder is made.

#[cfg(unix)]
mod files;
#[cfg(not(unix))]
#[path = "elsewhere.rs"]
mod files;

use std::path::Path;

use madang::{UserId, store::SqliteStore};

pub(crate) use files::{Mirror, clear, run};

use crate::{
    args::{Toolkit, Toolkits, Workspace},
    failure::Failure,
};

/// Starts to mirror the user's notes, if their toolkit is chosen.
pub(crate) async fn mirror(
    store: &SqliteStore,
    toolkits: &Toolkits,
    workspace: &Workspace,
    (database, user): (&Path, UserId),
) -> Result<Option<Mirror>, Failure> {
    if toolkits.names.contains(&Toolkit::Notes) {
        files::start(store, workspace.folder.as_deref(), database, user).await
    } else {
        Ok(None)
    }
}
