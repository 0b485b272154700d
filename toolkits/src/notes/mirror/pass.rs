//! Goes through the pages once: reads each file, decides, carries the step out and records it.
use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use madang::UserId;
use tokio::task::spawn_blocking;
use tracing::warn;

use super::{
    super::{
        block::OutlineLine, changes::lent, page::MAX_PAGE_BLOCKS, repository::NotesRepository,
    },
    diff::imported,
    folder::{Folder, Placed},
    hash::Hash,
    markdown::parse,
    marks::{Entry, Imported, Mark, Marks, Which},
    plan::{Step, step},
    report::{MirrorError, MirrorReport, Tally},
    steps::Steps,
};
use madang::store::SqliteStore;

/// Rounds in which changed pages are looked for again: an import changes its page, and an edit during a write needs a
/// second look.
const MAX_ROUNDS: usize = 4;

/// Compares all pages of a user with the files of a workspace, once, and repairs either side.
///
/// # Errors
/// [`MirrorError`]; the work done so far stays.
pub async fn sync(
    store: &SqliteStore,
    user: UserId,
    workspace: &Path,
) -> Result<MirrorReport, MirrorError> {
    Pass::open(store, user, workspace, Steps::default()).await?.reconcile().await
}

/// A user's notes and their workspace.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) marks: Marks,
    pub(super) folder: Arc<Folder>,
}

impl Pass {
    pub(super) async fn open(
        store: &SqliteStore,
        user: UserId,
        workspace: &Path,
        steps: Steps,
    ) -> Result<Self, MirrorError> {
        let (path, opening): (PathBuf, _) = (workspace.to_owned(), steps.clone());
        let marks = Marks { store: store.clone(), user, steps };
        let claim = marks.claim().await?;
        let opened = spawn_blocking(move || {
            let opened = Folder::open(&path, opening).and_then(|folder| {
                let is_its_own = folder.claim(&claim)?;
                Ok(is_its_own.then_some(folder))
            });
            match opened {
                Ok(Some(folder)) => Ok(folder),
                Ok(None) => Err(MirrorError::Foreign { path }),
                Err(cause) => Err(MirrorError::Workspace { path, cause }),
            }
        });
        let folder = opened.await.map_err(|_| MirrorError::Ending)??;
        Ok(Self { marks, folder: Arc::new(folder) })
    }

    /// Goes through all pages, then through those that changed meanwhile.
    pub(super) async fn reconcile(&self) -> Result<MirrorReport, MirrorError> {
        let mut tally = Tally::default();
        tally.done.kept_beside = self.sweep().await?;
        self.follow_pages(&mut tally).await?;
        self.through(Which::All, &mut tally).await?;
        self.rounds(&mut tally).await?;
        Ok(tally.into())
    }

    /// Goes through the changed pages until none are left or a round achieves nothing.
    pub(super) async fn catch_up(&self) -> Result<MirrorReport, MirrorError> {
        let mut tally = Tally::default();
        self.rounds(&mut tally).await?;
        Ok(tally.into())
    }

    async fn rounds(&self, tally: &mut Tally) -> Result<(), MirrorError> {
        for _ in 0..MAX_ROUNDS {
            let before = tally.deeds();
            self.follow_pages(tally).await?;
            self.through(Which::Changed, tally).await?;
            if tally.deeds() == before {
                break;
            }
        }
        Ok(())
    }

    async fn through(&self, which: Which, tally: &mut Tally) -> Result<(), MirrorError> {
        let mut after = 0;
        while let Some(entries) = self.marks.read(which, &mut after).await? {
            self.some(entries, tally).await?;
        }
        Ok(())
    }

    /// Handles some pages: records the intended writes in one transaction before, and the results in one after.
    pub(super) async fn some(
        &self,
        entries: Vec<Entry>,
        tally: &mut Tally,
    ) -> Result<(), MirrorError> {
        let look = |folder: &Folder, entry: &Entry| {
            let found = folder.read(&entry.path);
            found.map(|found| step(found, entry.kept, entry.wanted))
        };
        let (mut marks, mut writes) = (Vec::new(), Vec::new());
        for (entry, step) in self.on_files(entries, look).await? {
            let number = entry.page.number;
            tally.look_at(number);
            match step {
                Ok(Step::Nothing) => {}
                Ok(Step::Note) => marks.push((number, written(&entry))),
                Ok(Step::Write { over }) => writes.push((entry, Overwrite::Ours(over))),
                Ok(Step::KeepBeside { .. }) => writes.push((entry, Overwrite::TheirsKept)),
                Ok(Step::Import { hash, text }) => match self.import(&entry, hash, &text).await? {
                    Imported::Applied => tally.done.imported.push(entry.name()),
                    Imported::Changed => {}
                    Imported::Refused => writes.push((entry, Overwrite::TheirsKept)),
                },
                Ok(Step::Blocked) => {
                    tally.blocked.insert(number, entry.name());
                }
                Err(error) => failed(&entry, &error, tally),
            }
        }
        marks.extend(writes.iter().filter_map(|(entry, over)| coming(entry, *over)));
        let gone = self.marks.mark(&marks).await?;
        writes.retain(|(entry, _)| !gone.contains(&entry.page.number));
        let written = self.write(writes, tally).await?;
        self.marks.mark(&written).await.map(drop)
    }

    /// Does this with each file on a thread that may block, and returns each with what came of it.
    pub(super) async fn on_files<T: Send + 'static, R: Send + 'static>(
        &self,
        files: Vec<T>,
        work: impl Fn(&Folder, &T) -> R + Send + 'static,
    ) -> Result<Vec<(T, R)>, MirrorError> {
        let folder = self.folder.clone();
        let working = spawn_blocking(move || {
            let done = |file: T| {
                let done = work(&folder, &file);
                (file, done)
            };
            files.into_iter().map(done).collect()
        });
        working.await.map_err(|_| MirrorError::Ending)
    }

    async fn import(&self, entry: &Entry, file: Hash, text: &str) -> Result<Imported, MirrorError> {
        let after = parse(text);
        if after.len() > MAX_PAGE_BLOCKS {
            return Ok(Imported::Refused);
        }
        let before = self.lines_of(entry).await?;
        self.marks.import(entry, file, &imported(&before, after)).await
    }

    async fn lines_of(&self, entry: &Entry) -> Result<Vec<OutlineLine>, MirrorError> {
        use madang::store::Store;
        let mut reader = self.marks.store.reader().await?;
        let db = lent(reader.connection())?;
        let mut notes = NotesRepository::new(db, &self.marks.user);
        Ok(notes.lines(&entry.page, 0, MAX_PAGE_BLOCKS).await?.items)
    }

    /// Writes the files, and returns the facts to be recorded.
    async fn write(
        &self,
        writes: Vec<(Entry, Overwrite)>,
        tally: &mut Tally,
    ) -> Result<Vec<(i64, Mark)>, MirrorError> {
        let mut marks = Vec::new();
        for ((entry, _), Attempt { kept, placed }) in self.on_files(writes, place).await? {
            if let Some(kept) = kept {
                warn!(file = entry.name(), kept, "an edit of a page's file is kept beside it");
                tally.done.kept_beside.push(kept);
            }
            match placed {
                Ok(Placed::InPlace) => {
                    tally.done.written.push(entry.name());
                    marks.push((entry.page.number, written(&entry)));
                }
                // The page stays marked and is looked at again.
                Ok(Placed::Raced) => {}
                Ok(Placed::RacedTwice(kept)) => {
                    warn!(file = entry.name(), kept, "an edit of a page's file is kept beside it");
                    tally.done.kept_beside.push(kept);
                }
                Err(error) => failed(&entry, &error, tally),
            }
        }
        Ok(marks)
    }

    /// Removes what an ended process left behind, in the folders of all pages.
    pub(super) async fn sweep(&self) -> Result<Vec<String>, MirrorError> {
        let mut folders = BTreeSet::from([Vec::new()]);
        let around = |mut path: Vec<String>| {
            path.pop();
            path
        };
        for which in [Which::Moved, Which::All] {
            let mut after = 0;
            while let Some(entries) = self.marks.read(which, &mut after).await? {
                for Entry { path, place, .. } in entries {
                    folders.extend(place.into_iter().chain([path]).map(around));
                }
            }
        }
        let mut after = 0;
        while let Some(left) = self.marks.left(&mut after).await? {
            folders.extend(left.into_iter().map(|file| around(file.place)));
        }
        let (folder, ours) = (self.folder.clone(), self.marks.hashes().await?);
        let sweeping = spawn_blocking(move || {
            let mut kept = Vec::new();
            for names in folders {
                match folder.sweep(&names, |hash| ours.contains(hash)) {
                    Ok(names) => kept.extend(names),
                    Err(error) => warn!(%error, "a folder could not be cleared"),
                }
            }
            kept
        });
        sweeping.await.map_err(|_| MirrorError::Ending)
    }
}

/// The file that a write replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overwrite {
    /// The mirror's own last file, or none.
    Ours(Option<Hash>),
    /// No file: a person's file there got another name.
    TheirsKept,
}

/// Builds the fact to be recorded before a write; `None` if an earlier attempt recorded it. Another commit would wake
/// the task again at once, for as long as the write fails.
fn coming(
    Entry { page, path, place, kept, wanted, .. }: &Entry,
    over: Overwrite,
) -> Option<(i64, Mark)> {
    let placed = match over {
        Overwrite::Ours(over) => over.filter(|over| kept.coming == Some(*over)),
        Overwrite::TheirsKept => None,
    };
    let is_known = kept.coming == Some(*wanted) && place.as_ref() == Some(path);
    let mark = Mark::Coming { hash: *wanted, placed, place: path.join("/") };
    (!is_known).then_some((page.number, mark))
}

fn written(entry: &Entry) -> Mark {
    Mark::Written { hash: entry.wanted, changes: entry.changes, place: entry.name() }
}

/// The result of handling a file.
struct Attempt {
    kept: Option<String>,
    placed: io::Result<Placed>,
}

fn place(folder: &Folder, (entry, over): &(Entry, Overwrite)) -> Attempt {
    let (kept, over) = match over {
        Overwrite::Ours(over) => (None, *over),
        Overwrite::TheirsKept => match folder.keep_beside(&entry.path) {
            Ok(kept) => (Some(kept), None),
            Err(error) => return Attempt { kept: None, placed: Err(error) },
        },
    };
    Attempt { kept, placed: folder.write(&entry.path, entry.text.as_bytes(), over) }
}

pub(super) fn failed(entry: &Entry, error: &io::Error, tally: &mut Tally) {
    warn!(file = entry.name(), %error, "a page's file could not be read or written");
    tally.failed.insert(entry.page.number, entry.name());
}
