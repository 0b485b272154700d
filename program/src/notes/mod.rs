//! Keeps the user's notes as Markdown files: `madang notes repair`, and the mirror beside a chat or
//! a call.
//!
//! `files` mirrors, repairs and clears by the toolkit's own mirror. On a system that is no Unix
//! `elsewhere` takes its place: it refuses `madang notes` and every named folder, and mirrors
//! nothing.
//!
//! Invariant: without the toolkit `notes` no folder is made.

#[cfg(unix)]
mod files;
#[cfg(not(unix))]
#[path = "elsewhere.rs"]
mod files;

use madang::store::SqliteStore;

pub(crate) use files::{Mirror, clear, run};

use crate::{
    args::{ToolOptions, Toolkit},
    failure::Failure,
    language::UiLanguage,
    setup,
};

/// Starts to mirror the user's notes, if their toolkit is chosen. The end is reported in this
/// language.
pub(crate) fn mirror(
    store: &SqliteStore,
    ToolOptions { database, person, toolkits, workspace, .. }: &ToolOptions,
    locale: UiLanguage,
) -> Result<Option<Mirror>, Failure> {
    if !toolkits.names.contains(&Toolkit::Notes) {
        return Ok(None);
    }
    let database = setup::database_path(database)?;
    let folder = workspace.folder.as_deref();
    files::start(store, folder, &database, person.user.clone(), locale)
}
