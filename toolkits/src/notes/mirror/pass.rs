//! Goes through the pages once: removes the files of pages that are gone, then writes those that
//! differ from their pages.
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use madang::UserId;
use tokio::{sync::OnceCell, task::spawn_blocking};
use tracing::warn;

use super::{
    folder::{Folder, Found, Put, Removal},
    records::{Entry, Records, Which, Whose, WrittenFile},
    report::{MirrorError, MirrorReport},
    steps::Steps,
};
use madang::store::SqliteStore;

/// Compares all pages of a user with the files of a workspace, once, and makes the files follow the
/// pages.
///
/// # Errors
/// Returns [`MirrorError`]. The work that is done so far stays.
pub async fn repair(
    store: &SqliteStore,
    user: UserId,
    workspace: &Path,
) -> Result<MirrorReport, MirrorError> {
    Pass::new(store, user, workspace, Steps::default()).run(Which::All).await
}

/// Removes all files that the mirror wrote for a user, as if all pages were deleted. Files that a
/// person changed stay and are reported as left. Delete the pages afterwards, because the next
/// start of a mirror would write the files again.
///
/// # Errors
/// Returns [`MirrorError`]. The files that are removed so far stay removed, and a second call
/// removes the rest.
pub async fn clear(
    store: &SqliteStore,
    user: UserId,
    workspace: &Path,
) -> Result<MirrorReport, MirrorError> {
    Pass::new(store, user, workspace, Steps::default()).clear().await
}

/// A user's notes and their workspace.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) records: Records,
    workspace: PathBuf,
}

impl Pass {
    pub(super) fn new(store: &SqliteStore, user: UserId, workspace: &Path, steps: Steps) -> Self {
        let records = Records { store: store.clone(), user, steps };
        Self { records, workspace: workspace.to_owned() }
    }

    /// Makes the files of these pages follow.
    pub(super) async fn run(&self, which: Which) -> Result<MirrorReport, MirrorError> {
        // Most commits change no page, so the folder is opened only if it is needed.
        let opened = OnceCell::new();
        let open = || opened.get_or_try_init(|| self.open(which));
        if which == Which::All {
            open().await?;
        }
        let mut report = MirrorReport::default();
        // Files are removed before any is written, so that a page can take the place of another.
        let mut after = String::new();
        while let Some(files) = self.records.files(Whose::Gone, &mut after).await? {
            let done = remove(open().await?, files, &mut report).await?;
            self.records.forget(&done).await?;
        }
        let mut after = 0;
        while let Some(entries) = self.records.pages(which, &mut after).await? {
            self.some(open().await?, entries, &mut report).await?;
        }
        Ok(report)
    }

    async fn clear(&self) -> Result<MirrorReport, MirrorError> {
        let folder = self.open(Which::All).await?;
        let mut report = MirrorReport::default();
        let mut after = String::new();
        while let Some(files) = self.records.files(Whose::All, &mut after).await? {
            remove(&folder, files, &mut report).await?;
        }
        Ok(report)
    }

    /// Opens the workspace again for each walk, because a person may have moved or removed it.
    pub(super) async fn open(&self, which: Which) -> Result<Arc<Folder>, MirrorError> {
        let path = self.workspace.clone();
        let steps = self.records.steps.clone();
        let opening = spawn_blocking(move || {
            let opened = Folder::open(&path, steps).and_then(|folder| {
                if which == Which::All {
                    folder.sweep()?;
                }
                Ok(Arc::new(folder))
            });
            opened.map_err(|cause| MirrorError::Workspace { path, cause })
        });
        opening.await.map_err(|_| MirrorError::Ending)?
    }

    /// Handles some pages. Records the files that will be written in one transaction before, and
    /// those that were written in one after.
    pub(super) async fn some(
        &self,
        folder: &Arc<Folder>,
        entries: Vec<Entry>,
        report: &mut MirrorReport,
    ) -> Result<(), MirrorError> {
        let look = |folder: &Folder, entry: &Entry| folder.read(&entry.path);
        let mut writes = Vec::new();
        let mut written = Vec::new();
        for (entry, found) in on_files(folder, entries, look).await? {
            match found {
                Ok(Found::File(hash)) if hash == entry.wanted => {
                    if entry.is_changed || !entry.is_recorded {
                        written.push(entry);
                    }
                }
                Ok(Found::Absent | Found::File(_)) => writes.push(entry),
                Ok(Found::Odd) => report.blocked.push(entry.name()),
                Err(error) => failed(&entry.name(), &error, report),
            }
        }
        // Each page is recorded once. Another commit would wake the task again at once, for as long
        // as the write fails.
        let unrecorded = writes.iter().chain(&written).filter(|entry| !entry.is_recorded);
        let outdated = self.records.intend(&unrecorded.collect::<Vec<_>>()).await?;
        written.retain(|entry| !outdated.contains(&entry.page));
        writes.retain(|entry| !outdated.contains(&entry.page));
        let write = |folder: &Folder, entry: &Entry| {
            let mut kept = Vec::new();
            let put = folder.write(&entry.path, entry.text.as_bytes(), &entry.ours, &mut kept);
            (kept, put)
        };
        for (entry, (kept, put)) in on_files(folder, writes, write).await? {
            let name = entry.name();
            kept_beside(&name, kept, report);
            match put {
                Ok(Put::InPlace) => {
                    report.written.push(name);
                    written.push(entry);
                }
                Ok(Put::Blocked) => report.blocked.push(name),
                Err(error) => failed(&name, &error, report),
            }
        }
        self.records.written(&written).await
    }
}

/// Removes files, and returns the places of those that need no further attempt.
async fn remove(
    folder: &Arc<Folder>,
    files: Vec<WrittenFile>,
    report: &mut MirrorReport,
) -> Result<Vec<String>, MirrorError> {
    let remove = |folder: &Folder, file: &WrittenFile| {
        let mut kept = Vec::new();
        let removed = folder.remove(&file.path, &file.ours, &mut kept);
        (kept, removed)
    };
    let mut done = Vec::new();
    for (file, (kept, removed)) in on_files(folder, files, remove).await? {
        let name = file.path.join("/");
        kept_beside(&name, kept, report);
        match removed {
            Ok(Removal::Complete) => report.removed.push(name.clone()),
            Ok(Removal::Absent) => {}
            Ok(Removal::Left) => {
                warn!(file = name, "the file of a page that is gone was changed, and stays");
                report.left.push(name.clone());
            }
            Err(error) => {
                failed(&name, &error, report);
                continue;
            }
        }
        done.push(name);
    }
    Ok(done)
}

/// Calls `work` with each file on a thread that may block, and returns each file with the result.
async fn on_files<T: Send + 'static, R: Send + 'static>(
    folder: &Arc<Folder>,
    files: Vec<T>,
    work: impl Fn(&Folder, &T) -> R + Send + 'static,
) -> Result<Vec<(T, R)>, MirrorError> {
    let folder = folder.clone();
    let working = spawn_blocking(move || {
        let done = |file: T| {
            let done = work(&folder, &file);
            (file, done)
        };
        files.into_iter().map(done).collect()
    });
    working.await.map_err(|_| MirrorError::Ending)
}

fn kept_beside(name: &str, kept: Vec<String>, report: &mut MirrorReport) {
    for kept in kept {
        warn!(file = name, kept, "a file that the mirror did not write is kept beside");
        report.kept_beside.push(kept);
    }
}

fn failed(name: &str, error: &io::Error, report: &mut MirrorReport) {
    warn!(file = name, %error, "a file of notes could not be read, written or removed");
    report.failed.push(name.to_owned());
}
