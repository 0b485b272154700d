//! The notes of the user as Markdown files: `madang notes sync`, and the mirror beside a chat or a call.

use std::path::{Path, PathBuf};

use madang::{
    UserId,
    store::SqliteStore,
    toolkit::notes::mirror::{Mirror, MirrorError, Report, sync, workspace_beside},
};
use serde_json::json;

use crate::{
    args::{Notes, Sync, Toolkit, Toolkits, Workspace},
    failure::Failure,
    output, setup,
};

/// Compares once, and prints what was done.
pub(crate) async fn run(Notes::Sync(wanted): Notes) -> Result<(), Failure> {
    use madang::Store as _;
    let Sync { database, person, workspace } = wanted;
    let (path, user) = (setup::database_path(&database)?, person.user());
    let store = setup::store(&database, &Toolkits { names: vec![Toolkit::Notes] }).await?;
    let folder = folder(&workspace, &path, &user);
    let done = sync(&store, user, &folder).await;
    store.close().await;
    let Report { written, imported, kept_beside, blocked, failed } = done.map_err(Failure::of)?;
    let is_whole = failed.is_empty();
    let report = json!({
        "workspace": folder, "written": written, "imported": imported, "keptBeside": kept_beside,
        "blocked": blocked, "failed": failed,
    });
    output::line(&report.to_string())?;
    if is_whole {
        Ok(())
    } else {
        Err(Failure::new(
            "some files could not be read or written: look at their permissions and try again",
        ))
    }
}

/// Begins to write the user's notes as files, where the toolkit is among these.
pub(crate) async fn mirror(
    store: &SqliteStore,
    toolkits: &Toolkits,
    workspace: &Workspace,
    (database, user): (&Path, UserId),
) -> Result<Option<Mirror>, Failure> {
    if !toolkits.names.contains(&Toolkit::Notes) {
        return Ok(None);
    }
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

fn folder(workspace: &Workspace, database: &Path, user: &UserId) -> PathBuf {
    workspace.folder.clone().unwrap_or_else(|| workspace_beside(database, user))
}
