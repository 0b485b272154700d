//! Stands in for the mirror, which needs a Unix system.

use std::path::Path;

use madang::{UserId, store::SqliteStore};

use crate::{args::Notes, failure::Failure, language::UiLanguage};

/// Has no value here.
#[derive(Debug)]
pub(crate) enum Mirror {}

impl Mirror {
    pub(crate) async fn stop(self) {
        match self {}
    }
}

#[expect(clippy::unused_async, reason = "where there is a mirror it waits")]
pub(crate) async fn run(_: Notes) -> Result<(), Failure> {
    Err(Failure::new("notes are not kept as files on this system: use one that is a Unix"))
}

#[expect(clippy::unused_async, reason = "where there is a mirror it waits")]
pub(crate) async fn clear(_: &SqliteStore, _: UserId, _: &Path) -> Result<Vec<String>, Failure> {
    Err(Failure::new("notes are not kept as files on this system: leave --workspace out"))
}

pub(super) fn start(
    _: &SqliteStore,
    workspace: Option<&Path>,
    _: &Path,
    _: UserId,
    _: UiLanguage,
) -> Result<Option<Mirror>, Failure> {
    match workspace {
        Some(_) => {
            Err(Failure::new("notes are not kept as files on this system: leave --workspace out"))
        }
        None => Ok(None),
    }
}
