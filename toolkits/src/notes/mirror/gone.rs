//! Makes files follow their pages: removes those of deleted pages, and moves those of renamed pages.
//!
//! First all files leave their places, then each goes to its new place. So two pages can exchange their names, and a
//! page can take the name of a deleted one.
use std::{collections::HashMap, io, path::Path};

use madang::UserId;
use tokio::task::spawn_blocking;
use tracing::warn;

use super::{
    folder::Folder,
    leaving::{Put, Removal},
    left::LeftFile,
    marks::{Entry, Mark, Which},
    pass::{Pass, failed},
    report::{MirrorError, MirrorReport, Tally},
    steps::Steps,
};
use madang::store::SqliteStore;

/// Removes all files that the mirror wrote for a user, as if all pages were deleted. Files that a person changed stay
/// and are reported as left. Delete the pages afterwards, or the next start of a mirror writes them again.
///
/// # Errors
/// [`MirrorError`]; the files removed so far stay removed, and a second call continues.
pub async fn clear(
    store: &SqliteStore,
    user: UserId,
    workspace: &Path,
) -> Result<MirrorReport, MirrorError> {
    let pass = Pass::open(store, user, workspace, Steps::default()).await?;
    let mut tally = Tally::default();
    tally.done.kept_beside = pass.sweep().await?;
    pass.remove_left(&mut tally).await?;
    let mut after = 0;
    while let Some(files) = pass.marks.placed(&mut after).await? {
        pass.remove_files(files, &mut tally).await?;
    }
    let word = pass.marks.claim().await?;
    let folder = pass.folder.clone();
    let unclaiming = spawn_blocking(move || folder.unclaim(&word));
    if let Err(error) = unclaiming.await.map_err(|_| MirrorError::Ending)? {
        warn!(%error, "the mark of a workspace could not be taken away");
    }
    Ok(tally.into())
}

impl Pass {
    /// Removes and moves files as the store says. Unfinished files stay marked for the next attempt.
    pub(super) async fn follow_pages(&self, tally: &mut Tally) -> Result<(), MirrorError> {
        self.remove_left(tally).await?;
        let taken = self.take_moved(tally).await?;
        self.put_moved(&taken, tally).await
    }

    async fn remove_left(&self, tally: &mut Tally) -> Result<(), MirrorError> {
        let mut after = 0;
        tally.not_removed.clear();
        while let Some(left) = self.marks.left(&mut after).await? {
            let seen_to = self.remove_files(left, tally).await?;
            self.marks.forget_left(&seen_to).await?;
        }
        Ok(())
    }

    /// Removes files, and returns the numbers of the finished ones.
    async fn remove_files(
        &self,
        files: Vec<LeftFile>,
        tally: &mut Tally,
    ) -> Result<Vec<i64>, MirrorError> {
        let mut seen_to = Vec::new();
        for (file, removed) in self.on_files(files, remove).await? {
            let name = file.place.join("/");
            match removed {
                Ok(removed) => {
                    seen_to.push(file.number);
                    for removed in removed {
                        match removed {
                            Removal::Complete => tally.done.removed.push(name.clone()),
                            Removal::Absent => {}
                            Removal::LeftAs(kept) => {
                                warn!(
                                    file = name,
                                    kept, "the file of a page that is gone was changed, and stays"
                                );
                                tally.done.left.push(kept);
                            }
                        }
                    }
                }
                Err(error) => {
                    warn!(file = name, %error, "the file of a page that is gone could not be taken away");
                    tally.not_removed.push(name);
                }
            }
        }
        Ok(seen_to)
    }

    /// Takes files out of their old places. Returns the pages without a file in an old place, each with its count of
    /// moves.
    async fn take_moved(&self, tally: &mut Tally) -> Result<HashMap<i64, i64>, MirrorError> {
        let (mut after, mut ready) = (0, HashMap::new());
        let take = |folder: &Folder, entry: &Entry| match &entry.place {
            Some(place) if *place != entry.path => folder.take(place, entry.page.id, entry.kept),
            Some(_) | None => Ok(()),
        };
        while let Some(entries) = self.marks.read(Which::Moved, &mut after).await? {
            let mut marks = Vec::new();
            for (entry, taken) in self.on_files(entries, take).await? {
                let number = entry.page.number;
                tally.look_at(number);
                match taken {
                    Ok(()) => {
                        ready.insert(number, entry.moves);
                        if entry.place.as_ref().is_some_and(|place| *place != entry.path) {
                            marks.push((number, Mark::Leaving { place: entry.name() }));
                        }
                    }
                    Err(error) => failed(&entry, &error, tally),
                }
            }
            self.marks.mark(&marks).await?;
        }
        Ok(ready)
    }

    async fn put_moved(
        &self,
        taken: &HashMap<i64, i64>,
        tally: &mut Tally,
    ) -> Result<(), MirrorError> {
        let put =
            |folder: &Folder, entry: &Entry| folder.put(entry.page.id, &entry.path, entry.kept);
        let mut after = 0;
        while let Some(mut entries) = self.marks.read(Which::Moved, &mut after).await? {
            // A file that could not leave, or whose page was renamed meanwhile, waits for the next round.
            entries.retain(|entry| taken.get(&entry.page.number) == Some(&entry.moves));
            let mut marks = Vec::new();
            for (entry, put) in self.on_files(entries, put).await? {
                let number = entry.page.number;
                match put {
                    Ok(Put::InPlace { beside }) => {
                        if let Some(kept) = beside {
                            warn!(
                                file = entry.name(),
                                kept, "a file at the new place of a page's is kept beside it"
                            );
                            tally.done.kept_beside.push(kept);
                        }
                        tally.done.moved.push(entry.name());
                    }
                    Ok(Put::Nothing) => {}
                    Ok(Put::Blocked) => {
                        tally.blocked.insert(number, entry.name());
                        continue;
                    }
                    Err(error) => {
                        failed(&entry, &error, tally);
                        continue;
                    }
                }
                // Without a file the page claims no place: another program's file may stand there.
                let place = entry.place.is_some().then(|| entry.name());
                marks.push((number, Mark::Moved { place, moves: entry.moves }));
            }
            self.marks.mark(&marks).await?;
        }
        Ok(())
    }
}

/// Removes a file from each place where an earlier end of the process may have left it.
fn remove(folder: &Folder, file: &LeftFile) -> io::Result<[Removal; 2]> {
    let taken = folder.remove_taken(file.page, &file.ours)?;
    let in_place =
        if file.is_taken { Removal::Absent } else { folder.remove(&file.place, &file.ours)? };
    Ok([taken, in_place])
}
