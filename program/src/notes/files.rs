//! Compares notes and files, and starts the mirror, on Unix.

use std::path::{Path, PathBuf};

use madang::{
    UserId,
    store::{SqliteStore, Store as _},
};
use madang_toolkits::notes::mirror::{self, MirrorError, MirrorReport, sync, workspace_beside};
use serde_json::json;

pub(crate) use madang_toolkits::notes::mirror::Mirror;

use crate::{
    args::{Notes, Toolkit, Toolkits},
    failure::Failure,
    output, setup,
};

/// Compares once, and prints the changes.
pub(crate) async fn run(Notes::Sync(wanted): Notes) -> Result<(), Failure> {
    let (path, user) = (setup::database_path(&wanted.database)?, wanted.person.user.clone());
    let store = setup::store(&wanted.database, &Toolkits { names: vec![Toolkit::Notes] }).await?;
    let folder = folder(wanted.workspace.folder.as_deref(), &path, &user);
    let done = sync(&store, user, &folder).await;
    store.close().await;
    let MirrorReport { written, moved, removed, left, imported, kept_beside, blocked, failed } =
        done.map_err(Failure::of)?;
    let is_complete = failed.is_empty();
    let report = json!({
        "workspace": folder, "written": written, "moved": moved, "removed": removed, "left": left, "imported": imported,
        "keptBeside": kept_beside, "blocked": blocked, "failed": failed,
    });
    output::foreign(&report.to_string())?;
    if is_complete {
        return Ok(());
    }
    Err(Failure::new(
        "some files could not be read or written: look at their permissions and try again",
    ))
}

/// Removes the mirrored files of a folder, and returns those that stay because a person changed them.
pub(crate) async fn clear(
    store: &SqliteStore,
    user: UserId,
    folder: &Path,
) -> Result<Vec<String>, Failure> {
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(Failure::new(format!(
            "nothing was erased: there is no folder {folder}, so give its path with --workspace or leave that out"
        )));
    }
    let MirrorReport { left, kept_beside, failed, .. } =
        mirror::clear(store, user, folder).await.map_err(Failure::of)?;
    if failed.is_empty() {
        return Ok([left, kept_beside].concat());
    }
    let files = failed.join(", ");
    Err(Failure::new(format!(
        "some files of notes could not be removed, and nothing else was erased: look at the permissions of {files} and try again"
    )))
}

pub(super) async fn start(
    store: &SqliteStore,
    workspace: Option<&Path>,
    database: &Path,
    user: UserId,
) -> Result<Option<Mirror>, Failure> {
    let folder = folder(workspace, database, &user);
    match Mirror::start(store, user, &folder).await {
        Ok(mirror) => Ok(Some(mirror)),
        Err(error @ (MirrorError::Workspace { .. } | MirrorError::Foreign { .. })) => {
            Err(Failure::of(error))
        }
        Err(error) => {
            Err(Failure::because("failed to begin writing notes as files: try again", error))
        }
    }
}

fn folder(workspace: Option<&Path>, database: &Path, user: &UserId) -> PathBuf {
    workspace.map_or_else(|| workspace_beside(database, user), Path::to_owned)
}
