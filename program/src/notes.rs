//! Keeps the user's notes as Markdown files: `madang notes sync`, and the mirror beside a chat or a call.

use std::path::{Path, PathBuf};

use clap::{Args as Options, Subcommand};
use madang::{UserId, store::SqliteStore};

use crate::{
    args::{Database, Person, Toolkit, Toolkits},
    failure::Failure,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Notes {
    /// Compare all pages with the files of the workspace, repair either side, and print the changes as JSON.
    ///
    /// An edited file becomes the page; if the page changed too, the edit is kept beside it.
    Sync(Sync),
}

#[derive(Debug, Options)]
pub(crate) struct Sync {
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    person: Person,
    #[command(flatten)]
    workspace: Workspace,
}

#[derive(Debug, Options)]
pub(crate) struct Workspace {
    /// The folder of this user's notes as Markdown files. Without it, a folder beside the database.
    #[arg(long = "workspace", value_name = "PATH")]
    folder: Option<PathBuf>,
}

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

pub(crate) use files::{Mirror, clear, run};

#[cfg(unix)]
mod files {
    use madang::store::Store as _;
    use madang_toolkits::notes::mirror::{self, MirrorError, MirrorReport, sync, workspace_beside};
    use serde_json::json;

    pub(crate) use madang_toolkits::notes::mirror::Mirror;

    use super::{Failure, Notes, Path, PathBuf, SqliteStore, Sync, Toolkit, Toolkits, UserId};
    use crate::{output, setup};

    /// Compares once, and prints the changes.
    pub(crate) async fn run(Notes::Sync(wanted): Notes) -> Result<(), Failure> {
        let Sync { database, person, workspace } = wanted;
        let (path, user) = (setup::database_path(&database)?, person.user());
        let store = setup::store(&database, &Toolkits { names: vec![Toolkit::Notes] }).await?;
        let folder = folder(workspace.folder.as_deref(), &path, &user);
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
}

/// Stands in for the mirror, which needs a Unix system.
#[cfg(not(unix))]
mod files {
    use super::{Failure, Notes, Path, SqliteStore, UserId};

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
    pub(crate) async fn clear(
        _: &SqliteStore,
        _: UserId,
        _: &Path,
    ) -> Result<Vec<String>, Failure> {
        Err(Failure::new("notes are not kept as files on this system: leave --workspace out"))
    }

    #[expect(clippy::unused_async, reason = "where there is a mirror it waits")]
    pub(super) async fn start(
        _: &SqliteStore,
        workspace: Option<&Path>,
        _: &Path,
        _: UserId,
    ) -> Result<Option<Mirror>, Failure> {
        match workspace {
            Some(_) => Err(Failure::new(
                "notes are not kept as files on this system: leave --workspace out",
            )),
            None => Ok(None),
        }
    }
}
