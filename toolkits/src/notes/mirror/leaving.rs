//! Takes files out of their places, to remove them or to move them.
use std::io;

use rustix::{
    fs::{AtFlags, fsync, unlinkat},
    io::Errno,
};
use uuid::Uuid;

use super::{
    super::page::PageId,
    folder::{CLAIM, Folder, Missing, READY, is, read, recover, within},
    hash::{Hash, hash},
    plan::{Found, MarkState},
    rename::{rename_across, rename_new},
};

/// The prefix of files between their old and their new place.
const MOVING: &str = ".madang-moving-";

impl Folder {
    /// Removes a file of the mirror, and the folders that are empty then. The file first gets another name, is checked,
    /// and returns to its place unless it has one of the hashes `ours`.
    pub(super) fn remove(&self, path: &[String], ours: &[Hash]) -> io::Result<Removal> {
        let Some((name, folders)) = path.split_last() else { return Ok(Removal::Absent) };
        let folder = match self.folder(folders, Missing::Leave) {
            Ok(Some(folder)) => folder,
            Ok(None) => return Ok(Removal::Absent),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Ok(Removal::LeftAs(within(folders, name.clone())));
            }
            Err(errno) => return Err(errno.into()),
        };
        let is_ours = |found: &Found| ours.iter().any(|hash| is(found, hash));
        match read(&folder, name)? {
            Found::Absent => return Ok(Removal::Absent),
            found if !is_ours(&found) => return Ok(Removal::LeftAs(path.join("/"))),
            Found::File { .. } | Found::Odd => {}
        }
        self.steps.before("aside")?;
        let aside = format!("{READY}{}.tmp", Uuid::now_v7());
        rename_new(&folder, name, &aside)?;
        self.steps.before("look")?;
        if !is_ours(&read(&folder, &aside)?) {
            // Another program replaced it meanwhile.
            return Ok(Removal::LeftAs(within(
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
        Ok(Removal::Complete)
    }

    /// Moves the file of a page into the workspace itself, under a name made of the page's id. Its place is then free
    /// for another page. Moves only a plain file.
    pub(super) fn take(&self, path: &[String], page: PageId, kept: MarkState) -> io::Result<()> {
        let Some((name, folders)) = path.split_last() else { return Ok(()) };
        let folder = match self.folder(folders, Missing::Leave) {
            Ok(Some(folder)) => folder,
            Ok(None) | Err(Errno::LOOP | Errno::NOTDIR) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        // Before the first complete write, any other file there is a person's.
        let is_the_pages = match read(&folder, name)? {
            Found::File { hash, .. } => kept.written.is_some() || kept.coming == Some(hash),
            Found::Absent | Found::Odd => false,
        };
        if !is_the_pages {
            return Ok(());
        }
        self.steps.before("take")?;
        match rename_across((&folder, name), (&self.root, &moving(page))) {
            // The page's file was taken earlier; this one came later.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        fsync(&self.root)?;
        fsync(&folder)?;
        self.leave(folders)
    }

    /// Puts the taken file of a page into its new place. A file there that the mirror did not write is renamed; its new
    /// name is returned.
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
                // Of the two files, the one without a hash of the mirror may be a person's work.
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
        Ok(Put::InPlace { beside })
    }

    /// Removes the taken file of a deleted page.
    pub(super) fn remove_taken(&self, page: PageId, ours: &[Hash]) -> io::Result<Removal> {
        let moving = moving(page);
        match read(&self.root, &moving)? {
            Found::File { hash, .. } if !ours.contains(&hash) => {
                Ok(Removal::LeftAs(recover(&self.root, &moving)?))
            }
            Found::File { .. } | Found::Absent | Found::Odd => self.remove(&[moving], ours),
        }
    }

    /// Removes the folders around a removed file, as far as they are empty.
    fn leave(&self, folders: &[String]) -> io::Result<()> {
        let mut folders = folders;
        while let Some((name, around)) = folders.split_last() {
            let Ok(Some(folder)) = self.folder(around, Missing::Leave) else { return Ok(()) };
            self.steps.before("leave")?;
            match unlinkat(&folder, name.as_str(), AtFlags::REMOVEDIR) {
                Ok(()) => fsync(&folder)?,
                // The folder is not empty, or may not be removed.
                Err(_) => return Ok(()),
            }
            folders = around;
        }
        Ok(())
    }

    /// Releases the folder, if this owner has it.
    pub(super) fn unclaim(&self, word: &str) -> io::Result<Removal> {
        self.remove(&[CLAIM.to_owned()], &[hash(word.as_bytes())])
    }
}

/// The result of removing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Removal {
    /// The file is removed.
    Complete,
    /// No file stood there.
    Absent,
    /// The mirror did not write it, so it stays under this name.
    LeftAs(String),
}

/// The result of putting a taken file into its new place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Put {
    InPlace {
        /// The new name of the file that stood there.
        beside: Option<String>,
    },
    /// No file was taken.
    Nothing,
    /// The place holds something other than a plain file.
    Blocked,
}

/// Names the file of a page between its old place and its new one.
fn moving(page: PageId) -> String {
    format!("{MOVING}{page}.tmp")
}
