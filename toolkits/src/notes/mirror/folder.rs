//! Reads and writes files of the workspace one name at a time, so that no link and no name leads
//! out of the folder.
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
    rename::{move_away, rename_new},
    steps::Steps,
};

/// The most bytes of a file that are hashed. The longest page has fewer, so a longer file is never
/// taken for one of the mirror's.
const MAX_BYTES: u64 = 1 << 30;
/// The most copies of one file.
const MAX_COPIES: usize = 10_000;
/// The most looks at a place during one write. A program that creates its file there again and
/// again cannot hold up the mirror.
const MAX_LOOKS: usize = 4;
/// The prefix of incomplete files. They are in the workspace itself and may be deleted.
const WRITING: &str = ".madang-writing-";
/// The prefix of files that are about to be removed. If the process ends, one may remain, and the
/// next attempt decides.
const REMOVING: &str = ".madang-removing-";

/// An open workspace folder.
#[derive(Debug)]
pub(super) struct Folder {
    root: OwnedFd,
    steps: Steps,
}

/// Returns whether a file has the name of one that [`Folder::write_aside`] makes.
fn is_unfinished(name: &[u8]) -> bool {
    let name = name.strip_prefix(WRITING.as_bytes());
    let id = name.and_then(|name| str::from_utf8(name.strip_suffix(b".tmp")?).ok());
    id.is_some_and(|id| Uuid::try_parse(id).is_ok())
}

/// Returns the name under which a file is set aside before it is removed.
fn aside_of(name: &str) -> String {
    let hash = hash(name.as_bytes());
    let digits: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{REMOVING}{digits}")
}

/// What is at the place of a page's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No file.
    Absent,
    /// A plain file.
    File(Hash),
    /// Something other than a plain file, such as a link or a folder, or something that a link
    /// leads to. It is never touched.
    Odd,
}

/// What came of writing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// The file is in its place.
    InPlace,
    /// Something other than a plain file is in the way.
    Blocked,
}

/// What came of removing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// The file is removed.
    Complete,
    /// There was no file.
    Absent,
    /// The mirror did not write the file, so it stays.
    Left,
}

impl Folder {
    /// Opens the folder, or creates it so that only this user can read it.
    pub(super) fn open(path: &Path, steps: Steps) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let root = open(path, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { root, steps })
    }

    /// Reads the file at a path.
    pub(super) fn read(&self, path: &[String]) -> io::Result<Found> {
        let Some((name, folders)) = path.split_last() else { return Ok(Found::Odd) };
        match self.folder(folders, Missing::Leave) {
            Ok(Some(folder)) => read(&folder, name),
            Ok(None) => Ok(Found::Absent),
            Err(errno) if is_odd(errno) => Ok(Found::Odd),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Writes a file completely and durably, then puts it into its place in one step. It replaces
    /// only a file with one of the hashes `ours`. Another program's file is renamed, and its new
    /// name is added to `kept`, even before an error.
    pub(super) fn write(
        &self,
        path: &[String],
        text: &[u8],
        ours: &[Hash],
        kept: &mut Vec<String>,
    ) -> io::Result<Put> {
        let (name, folders) = path.split_last().ok_or(Errno::INVAL)?;
        self.steps.before("folders")?;
        let folder = match self.folder(folders, Missing::Create) {
            Ok(folder) => folder.ok_or(Errno::NOENT)?,
            Err(errno) if is_odd(errno) => return Ok(Put::Blocked),
            Err(errno) => return Err(errno.into()),
        };
        let writing = self.write_aside(text)?;
        let mut moved = Vec::new();
        let placed = self.place(&writing, (&folder, name), ours, &mut moved);
        kept.extend(moved.into_iter().map(|name| within(folders, name)));
        if !matches!(placed, Ok(Put::InPlace)) {
            // If this fails too, the next sweep removes it.
            let _ = unlinkat(&self.root, &*writing, AtFlags::empty());
        }
        self.steps.before("sync folder")?;
        fsync(&folder)?;
        placed
    }

    /// Removes a file of the mirror, and the folders that are empty after that. A file without one
    /// of the hashes `ours` stays. If it had to be renamed, its new name is added to `kept`.
    pub(super) fn remove(
        &self,
        path: &[String],
        ours: &[Hash],
        kept: &mut Vec<String>,
    ) -> io::Result<Removal> {
        let Some((name, folders)) = path.split_last() else { return Ok(Removal::Absent) };
        let folder = match self.folder(folders, Missing::Leave) {
            Ok(Some(folder)) => folder,
            Ok(None) => return Ok(Removal::Absent),
            Err(errno) if is_odd(errno) => return Ok(Removal::Left),
            Err(errno) => return Err(errno.into()),
        };
        let mut moved = Vec::new();
        let removal = self.remove_in(&folder, name, ours, &mut moved);
        kept.extend(moved.into_iter().map(|name| within(folders, name)));
        let removal = removal?;
        self.steps.before("sync folder")?;
        fsync(&folder)?;
        if removal == Removal::Complete {
            self.leave(folders)?;
        }
        Ok(removal)
    }

    /// Removes a file of a folder. The file is renamed before the look that decides. So a person
    /// who saves the page by its name meanwhile loses nothing.
    fn remove_in(
        &self,
        folder: &OwnedFd,
        name: &str,
        ours: &[Hash],
        moved: &mut Vec<String>,
    ) -> io::Result<Removal> {
        let aside = aside_of(name);
        let earlier = self.remove_aside(folder, &aside, name, ours, moved)?;
        self.steps.before("look")?;
        match read(folder, name)? {
            Found::Absent => return Ok(earlier),
            Found::File(hash) if ours.contains(&hash) => {}
            Found::File(_) | Found::Odd => return Ok(Removal::Left),
        }
        self.steps.before("set aside")?;
        match move_away(folder, name, &aside) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Removal::Absent),
            Err(errno) => return Err(errno.into()),
        }
        self.steps.before("look again")?;
        self.remove_aside(folder, &aside, name, ours, moved)
    }

    /// Removes a file that was set aside, or gives it its name back if the mirror did not write it.
    fn remove_aside(
        &self,
        folder: &OwnedFd,
        aside: &str,
        name: &str,
        ours: &[Hash],
        moved: &mut Vec<String>,
    ) -> io::Result<Removal> {
        match read(folder, aside)? {
            Found::Absent => return Ok(Removal::Absent),
            Found::File(hash) if ours.contains(&hash) => {
                unlinkat(folder, aside, AtFlags::empty())?;
                return Ok(Removal::Complete);
            }
            Found::File(_) | Found::Odd => {}
        }
        match rename_new((folder, aside), (folder, name)) {
            // A file of that name was created since.
            Err(Errno::EXIST) => moved.push(self.keep_beside(folder, aside, name)?),
            renamed => renamed?,
        }
        Ok(Removal::Left)
    }

    /// Removes files that a process left when it ended during a write. Each is a copy of what the
    /// store has.
    pub(super) fn sweep(&self) -> io::Result<()> {
        for entry in Dir::read_from(&self.root)? {
            let entry = entry?;
            if is_unfinished(entry.file_name().to_bytes()) {
                match unlinkat(&self.root, entry.file_name(), AtFlags::empty()) {
                    // A folder is not a file of the mirror: Linux says ISDIR, others PERM.
                    Ok(()) | Err(Errno::NOENT | Errno::ISDIR | Errno::PERM) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
        Ok(())
    }

    /// Writes a complete file under a name of its own, and returns the name.
    fn write_aside(&self, text: &[u8]) -> io::Result<String> {
        let name = format!("{WRITING}{}.tmp", Uuid::now_v7());
        self.steps.before("create")?;
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.root, &*name, flags, Mode::from_raw_mode(0o666))?;
        let mut file = File::from(file);
        let full = self.steps.before("disk").and_then(|()| file.write_all(text));
        if let Err(error) = full.and_then(|()| file.sync_all()) {
            // A full disk needs the room. If this fails too, the next sweep removes it.
            let _ = unlinkat(&self.root, &*name, AtFlags::empty());
            return Err(error);
        }
        self.steps.before("written")?;
        Ok(name)
    }

    /// Moves a written file to its place. The look comes right before the renaming, because no
    /// system replaces a file on a condition.
    fn place(
        &self,
        writing: &str,
        (folder, name): (&OwnedFd, &str),
        ours: &[Hash],
        moved: &mut Vec<String>,
    ) -> io::Result<Put> {
        // A removal that failed may have left a file of a person aside.
        self.remove_aside(folder, &aside_of(name), name, ours, moved)?;
        for _ in 0..MAX_LOOKS {
            self.steps.before("look")?;
            let placed = match read(folder, name)? {
                Found::Absent => rename_new((&self.root, writing), (folder, name)),
                Found::File(hash) if ours.contains(&hash) => {
                    renameat(&self.root, writing, folder, name)
                }
                Found::File(_) => {
                    moved.push(self.keep_beside(folder, name, name)?);
                    continue;
                }
                Found::Odd => return Ok(Put::Blocked),
            };
            match placed {
                Ok(()) => return Ok(Put::InPlace),
                // Another program was quicker.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::BUSY.into())
    }

    /// Renames the file `from` to a free name next to the place of `name`, and returns that name.
    fn keep_beside(&self, folder: &OwnedFd, from: &str, name: &str) -> io::Result<String> {
        let stem = name.strip_suffix(".md").unwrap_or(name);
        self.steps.before("keep beside")?;
        for number in 1..=MAX_COPIES {
            let copy = match number {
                1 => format!("{stem} (conflict).md"),
                number => format!("{stem} (conflict {number}).md"),
            };
            match move_away(folder, from, &copy) {
                Ok(()) => return Ok(copy),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::EXIST.into())
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

    /// Opens a folder by its names, the outermost first. A link among them is an error.
    fn folder(&self, names: &[String], missing: Missing) -> Result<Option<OwnedFd>, Errno> {
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
enum Missing {
    Create,
    Leave,
}

fn read(folder: impl AsFd, name: &str) -> io::Result<Found> {
    // Without NONBLOCK, to open a pipe would wait for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(folder, OsStr::from_bytes(name.as_bytes()), flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(Found::Absent),
        Err(errno) if is_odd(errno) => return Ok(Found::Odd),
        Err(errno) => return Err(errno.into()),
    };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Ok(Found::Odd);
    }
    let mut file = File::from(file).take(MAX_BYTES);
    let mut digest = Sha256::new();
    let mut bytes = vec![0; 64 << 10];
    loop {
        match file.read(&mut bytes) {
            Ok(0) => return Ok(Found::File(digest.finalize().into())),
            Ok(count) => digest.update(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns whether an error says that the place has something other than a plain file in a folder,
/// such as a link.
fn is_odd(errno: Errno) -> bool {
    matches!(errno, Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::NXIO | Errno::MLINK)
}

fn within(folders: &[String], name: String) -> String {
    let mut path = folders.to_vec();
    path.push(name);
    path.join("/")
}
