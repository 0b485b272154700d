//! Files that leave their places: taken away because their pages are gone, or moved to where those are now.
use std::io;

use rustix::{
    fs::{AtFlags, fsync, unlinkat},
    io::Errno,
};
use uuid::Uuid;

use super::{
    super::page::PageId,
    folder::{CLAIM, Folder, Missing, READY, is, read, recover, within},
    marks::hash,
    plan::{Found, Hash, MarkState},
    rename::{rename_across, rename_new},
};

/// How the names of files begin that are on their way to another place.
const MOVING: &str = ".madang-moving-";

impl Folder {
    /// Takes a file that was ours away, and the folders around it that are empty then. Anything else that stands there
    /// stays: it goes aside in one step, is looked at, and comes back unless it is one of `ours`.
    pub(super) fn remove(&self, path: &[String], ours: &[Hash]) -> io::Result<Removed> {
        let Some((name, folders)) = path.split_last() else { return Ok(Removed::Absent) };
        let folder = match self.folder(folders, Missing::Leave) {
            Ok(Some(folder)) => folder,
            Ok(None) => return Ok(Removed::Absent),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Ok(Removed::Kept(within(folders, name.clone())));
            }
            Err(errno) => return Err(errno.into()),
        };
        let is_ours = |found: &Found| ours.iter().any(|hash| is(found, hash));
        match read(&folder, name)? {
            Found::Absent => return Ok(Removed::Absent),
            found if !is_ours(&found) => return Ok(Removed::Kept(path.join("/"))),
            Found::File { .. } | Found::Odd => {}
        }
        self.steps.before("aside")?;
        let aside = format!("{READY}{}.tmp", Uuid::now_v7());
        rename_new(&folder, name, &aside)?;
        self.steps.before("look")?;
        if !is_ours(&read(&folder, &aside)?) {
            // Another program wrote over it in between.
            return Ok(Removed::Kept(within(
                folders,
                match rename_new(&folder, &aside, name) {
                    Ok(()) => name.clone(),
                    Err(Errno::EXIST) => recover(&folder, &aside)?,
                    Err(errno) => return Err(errno.into()),
                },
            )));
        }
        self.steps.before("remove")?;
        unlinkat(&folder, &*aside, AtFlags::empty())?;
        self.steps.before("sync folder")?;
        fsync(&folder)?;
        self.leave(folders)?;
        Ok(Removed::Done)
    }

    /// Takes the file of a page out of its place, into the workspace itself under the name of the page's id: what is to
    /// stand where another one stands now can go there then. Only a plain file goes.
    pub(super) fn take(&self, path: &[String], page: PageId, kept: MarkState) -> io::Result<()> {
        let Some((name, folders)) = path.split_last() else { return Ok(()) };
        let folder = match self.folder(folders, Missing::Leave) {
            Ok(Some(folder)) => folder,
            Ok(None) | Err(Errno::LOOP | Errno::NOTDIR) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        // Where nothing was written yet, what stands there is a person's own, but for what was being written.
        let is_the_pages = match read(&folder, name)? {
            Found::File { hash, .. } => kept.written.is_some() || kept.coming == Some(hash),
            Found::Absent | Found::Odd => false,
        };
        if !is_the_pages {
            return Ok(());
        }
        self.steps.before("take")?;
        match rename_across((&folder, name), (&self.root, &moving(page))) {
            // It was taken before: what stands here now came later.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        fsync(&self.root)?;
        fsync(&folder)?;
        self.leave(folders)
    }

    /// Puts the file of a page that was taken into its new place. What stands there and was not written by the mirror is
    /// kept beside, under the name that is given back.
    pub(super) fn put(&self, page: PageId, path: &[String], kept: MarkState) -> io::Result<Put> {
        let (name, folders) = path.split_last().ok_or(Errno::INVAL)?;
        let moving = moving(page);
        let Found::File { hash, .. } = read(&self.root, &moving)? else {
            return Ok(Put::Nothing);
        };
        self.steps.before("folders")?;
        let folder = match self.folder(folders, Missing::Create) {
            Ok(Some(folder)) => folder,
            Ok(None) => return Err(Errno::NOENT.into()),
            Err(Errno::LOOP | Errno::NOTDIR) => return Ok(Put::Blocked),
            Err(errno) => return Err(errno.into()),
        };
        self.steps.before("place")?;
        let mut beside = None;
        match rename_across((&self.root, &moving), (&folder, name)) {
            Ok(()) => {}
            Err(Errno::EXIST) => match read(&folder, name)? {
                Found::Odd => return Ok(Put::Blocked),
                // Of the two the one that is not as we wrote it may be a person's work.
                _ if kept.written != Some(hash) && kept.coming != Some(hash) => {
                    beside = Some(recover(&self.root, &moving)?);
                }
                Found::File { .. } | Found::Absent => {
                    beside = Some(self.keep_beside(path)?);
                    rename_across((&self.root, &moving), (&folder, name))?;
                }
            },
            Err(errno) => return Err(errno.into()),
        }
        fsync(&folder)?;
        fsync(&self.root)?;
        self.steps.before("placed")?;
        Ok(Put::Done { beside })
    }

    /// Takes away what was taken out of its place for a page that is gone.
    pub(super) fn remove_taken(&self, page: PageId, ours: &[Hash]) -> io::Result<Removed> {
        let moving = moving(page);
        match read(&self.root, &moving)? {
            Found::File { hash, .. } if !ours.contains(&hash) => {
                Ok(Removed::Kept(recover(&self.root, &moving)?))
            }
            Found::File { .. } | Found::Absent | Found::Odd => self.remove(&[moving], ours),
        }
    }

    /// Removes the folders on the way to a file that is gone, as far as they are empty.
    fn leave(&self, folders: &[String]) -> io::Result<()> {
        let mut folders = folders;
        while let Some((name, around)) = folders.split_last() {
            let Ok(Some(folder)) = self.folder(around, Missing::Leave) else { return Ok(()) };
            self.steps.before("leave")?;
            match unlinkat(&folder, name.as_str(), AtFlags::REMOVEDIR) {
                Ok(()) => fsync(&folder)?,
                // Not empty, or not ours to remove: it stays.
                Err(_) => return Ok(()),
            }
            folders = around;
        }
        Ok(())
    }

    /// Gives the folder back, if it belongs to the owner of this word.
    pub(super) fn unclaim(&self, word: &str) -> io::Result<Removed> {
        self.remove(&[CLAIM.to_owned()], &[hash(word.as_bytes())])
    }
}

/// How a file of a page that is gone was taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Removed {
    Done,
    Absent,
    /// It is not what the mirror wrote, and stays under this name.
    Kept(String),
}

/// How a file that was taken went to its new place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Put {
    Done {
        /// What stood there has this name now.
        beside: Option<String>,
    },
    /// None was taken.
    Nothing,
    /// What stands there is no file.
    Blocked,
}

/// The name that the file of a page has in the workspace itself between its old place and its new one.
fn moving(page: PageId) -> String {
    format!("{MOVING}{page}.tmp")
}
