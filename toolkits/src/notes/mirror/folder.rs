//! Reads and writes files of the workspace one name at a time, so that no link and no name leads out of the folder.
use std::{
    ffi::OsStr,
    fs::{DirBuilder, File},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::DirBuilderExt},
    },
    path::Path,
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, fstat, fsync, mkdirat, open, openat, renameat,
        unlinkat,
    },
    io::Errno,
};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{
    hash::{Hash, hash},
    plan::Found,
    rename::{exchange, rename_new},
    steps::Steps,
};

/// The largest file that is read as text.
const MAX_TEXT: usize = 16 << 20;
/// The most bytes of a file that are hashed. The longest page has fewer, so a longer file is never taken for the
/// mirror's.
const MAX_BYTES: u64 = 1 << 30;
/// The most copies beside one file.
const MAX_COPIES: usize = 10_000;
/// The file that names the owner of a workspace.
pub(super) const CLAIM: &str = ".madang-workspace";
/// The prefix of incomplete files, which may be deleted.
const WRITING: &str = ".madang-writing-";
/// The prefix of complete files that are about to change places with the old ones.
pub(super) const READY: &str = ".madang-ready-";

/// An open workspace folder.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) root: OwnedFd,
    pub(super) steps: Steps,
}

/// The result of placing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Placed {
    InPlace,
    /// Another program changed the file meanwhile, and its version stays.
    Raced,
    /// Another program changed it twice meanwhile. One version stays, and the other now has this name.
    RacedTwice(String),
}

impl Folder {
    /// Opens the folder, or creates it so that only this user can read it.
    pub(super) fn open(path: &Path, steps: Steps) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let root = open(path, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { root, steps })
    }

    /// Claims the folder for an owner, and tells whether the owner has it.
    pub(super) fn claim(&self, word: &str) -> io::Result<bool> {
        let name = [CLAIM.to_owned()];
        if let Placed::InPlace = match self.read(&name)? {
            Found::Absent => self.write(&name, word.as_bytes(), None)?,
            Found::File { .. } | Found::Odd => Placed::Raced,
        } {
            return Ok(true);
        }
        Ok(is(&self.read(&name)?, &hash(word.as_bytes())))
    }

    /// Reads the file at a path.
    pub(super) fn read(&self, path: &[String]) -> io::Result<Found> {
        let Some((name, folders)) = path.split_last() else { return Ok(Found::Odd) };
        let folder = match self.folder(folders, Missing::Leave) {
            Ok(Some(folder)) => folder,
            Ok(None) => return Ok(Found::Absent),
            Err(errno) => return odd(errno),
        };
        read(&folder, name)
    }

    /// Writes a file completely and durably, then puts it into its place in one step. It replaces only a file with the
    /// hash `over`, or none; another program's file stays.
    pub(super) fn write(
        &self,
        path: &[String],
        text: &[u8],
        over: Option<Hash>,
    ) -> io::Result<Placed> {
        let (name, folders) = path.split_last().ok_or(Errno::INVAL)?;
        self.steps.before("folders")?;
        let folder = self.folder(folders, Missing::Create)?.ok_or(Errno::NOENT)?;
        let id = Uuid::now_v7();
        let (writing, ready) = (format!("{WRITING}{id}.tmp"), format!("{READY}{id}.tmp"));
        self.steps.before("create")?;
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, &*writing, flags, Mode::from_raw_mode(0o666))?);
        self.steps.before("write")?;
        file.write_all(text)?;
        self.steps.before("sync")?;
        file.sync_all()?;
        drop(file);
        self.steps.before("ready")?;
        renameat(&folder, &*writing, &folder, &*ready)?;
        self.steps.before("place")?;
        let placed = match over {
            None => self.place_new(&folder, &ready, name),
            Some(over) => self.place_over(&folder, &ready, name, Sides { ours: hash(text), over }),
        }?;
        self.steps.before("sync folder")?;
        fsync(&folder)?;
        Ok(match placed {
            Placed::RacedTwice(kept) => Placed::RacedTwice(within(folders, kept)),
            Placed::InPlace | Placed::Raced => placed,
        })
    }

    /// Renames the file at a path to a free name beside it, and returns that name.
    pub(super) fn keep_beside(&self, path: &[String]) -> io::Result<String> {
        let (name, folders) = path.split_last().ok_or(Errno::INVAL)?;
        let folder = self.folder(folders, Missing::Leave)?.ok_or(Errno::NOENT)?;
        let stem = name.strip_suffix(".md").unwrap_or(name);
        self.steps.before("keep beside")?;
        for number in 1..=MAX_COPIES {
            let copy = match number {
                1 => format!("{stem} (conflict).md"),
                number => format!("{stem} (conflict {number}).md"),
            };
            match rename_new(&folder, name, &copy) {
                Ok(()) => {
                    fsync(&folder)?;
                    self.steps.before("kept beside")?;
                    return Ok(within(folders, copy));
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Removes files that a process left when it ended during a write. A possible edit of a person is kept under a
    /// returned name.
    pub(super) fn sweep(
        &self,
        folders: &[String],
        is_ours: impl Fn(&Hash) -> bool,
    ) -> io::Result<Vec<String>> {
        let folder = match self.folder(folders, Missing::Leave) {
            Ok(Some(folder)) => folder,
            Ok(None) | Err(Errno::LOOP | Errno::NOTDIR) => return Ok(Vec::new()),
            Err(errno) => return Err(errno.into()),
        };
        let mut kept = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with(WRITING) {
                unlinkat(&folder, name, AtFlags::empty())?;
            } else if name.starts_with(READY) {
                match read(&folder, name)? {
                    Found::File { hash, .. } if is_ours(&hash) => {
                        unlinkat(&folder, name, AtFlags::empty())?;
                    }
                    Found::File { .. } => {
                        kept.push(within(folders, recover(&folder, name)?));
                    }
                    Found::Absent | Found::Odd => {}
                }
            }
        }
        Ok(kept)
    }

    fn place_new(&self, folder: &OwnedFd, ready: &str, name: &str) -> io::Result<Placed> {
        match rename_new(folder, ready, name) {
            Ok(()) => Ok(Placed::InPlace),
            Err(Errno::EXIST) => {
                self.steps.before("remove")?;
                unlinkat(folder, ready, AtFlags::empty())?;
                Ok(Placed::Raced)
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// Exchanges both files, and checks the old one. An unexpected edit goes back to its place.
    fn place_over(
        &self,
        folder: &OwnedFd,
        ready: &str,
        name: &str,
        Sides { ours, over }: Sides,
    ) -> io::Result<Placed> {
        match exchange(folder, ready, name) {
            Ok(()) => {}
            Err(Errno::NOENT) => return self.place_new(folder, ready, name),
            // This file system cannot exchange files. A look right before leaves a short gap.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                if !is(&read(folder, name)?, &over) {
                    unlinkat(folder, ready, AtFlags::empty())?;
                    return Ok(Placed::Raced);
                }
                renameat(folder, ready, folder, name)?;
                return Ok(Placed::InPlace);
            }
            Err(errno) => return Err(errno.into()),
        }
        self.steps.before("look")?;
        let placed = if is(&read(folder, ready)?, &over) {
            Placed::InPlace
        } else {
            exchange(folder, ready, name)?;
            if !is(&read(folder, ready)?, &ours) {
                // Another program wrote once more, over the mirror's file.
                return Ok(Placed::RacedTwice(recover(folder, ready)?));
            }
            Placed::Raced
        };
        self.steps.before("remove")?;
        unlinkat(folder, ready, AtFlags::empty())?;
        Ok(placed)
    }

    /// Opens a folder by its names, the outermost first. A link among them is an error.
    pub(super) fn folder(
        &self,
        names: &[String],
        missing: Missing,
    ) -> Result<Option<OwnedFd>, Errno> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let mut at = openat(&self.root, ".", flags, Mode::empty())?;
        for name in names {
            at = match (openat(&at, name.as_str(), flags, Mode::empty()), missing) {
                (Ok(inner), _) => inner,
                (Err(Errno::NOENT), Missing::Leave) => return Ok(None),
                (Err(Errno::NOENT), Missing::Create) => {
                    match mkdirat(&at, name.as_str(), Mode::from_raw_mode(0o777)) {
                        Ok(()) => fsync(&at)?,
                        Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno),
                    }
                    openat(&at, name.as_str(), flags, Mode::empty())?
                }
                (Err(errno), _) => return Err(errno),
            };
        }
        Ok(Some(at))
    }
}

/// The treatment of a missing folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Create,
    Leave,
}

/// A new file and the file that it replaces.
#[derive(Debug, Clone, Copy)]
struct Sides {
    ours: Hash,
    over: Hash,
}

pub(super) fn read(folder: impl AsFd, name: &str) -> io::Result<Found> {
    // Without NONBLOCK, opening a pipe would wait for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(folder, OsStr::from_bytes(name.as_bytes()), flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(Found::Absent),
        Err(errno) => return odd(errno),
    };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Ok(Found::Odd);
    }
    let (mut file, mut digest) = (File::from(file).take(MAX_BYTES), Sha256::new());
    let mut bytes = Vec::new();
    file.by_ref().take(MAX_TEXT as u64 + 1).read_to_end(&mut bytes)?;
    digest.update(&bytes);
    let text = if bytes.len() > MAX_TEXT { None } else { String::from_utf8(bytes).ok() };
    let mut more = [0; 64 << 10];
    loop {
        match file.read(&mut more) {
            Ok(0) => return Ok(Found::File { hash: digest.finalize().into(), text }),
            Ok(count) => digest.update(&more[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Stands for anything that is not a plain file, or not inside a folder.
fn odd(errno: Errno) -> io::Result<Found> {
    match errno {
        Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::NXIO | Errno::MLINK => Ok(Found::Odd),
        errno => Err(errno.into()),
    }
}

pub(super) fn is(found: &Found, expected: &Hash) -> bool {
    matches!(found, Found::File { hash, .. } if hash == expected)
}

pub(super) fn within(folders: &[String], name: String) -> String {
    let mut path = folders.to_vec();
    path.push(name);
    path.join("/")
}

/// Keeps a possible edit of a person, and returns its name in the folder.
pub(super) fn recover(folder: &OwnedFd, name: &str) -> io::Result<String> {
    let kept = format!("recovered {}.md", Uuid::now_v7());
    rename_new(folder, name, &kept)?;
    fsync(folder)?;
    Ok(kept)
}
