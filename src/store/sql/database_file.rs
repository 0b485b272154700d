//! Where a database really lies: the one name behind its links and spellings, and which file that name leads to.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf, absolute},
};

/// Links that are followed one after the other: as many as Linux follows.
const LINKS: usize = 40;

/// Finds the name behind links, also behind those that lead to a file that is yet to be made. Two names of one file give
/// one name, and none that SQLite would read as a URI.
pub(super) fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = absolute(path)?;
    for _ in 0..LINKS {
        match fs::canonicalize(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        // There is no file yet, or only a link to where it will be.
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ErrorKind::NotFound.into());
        };
        let folder = fs::canonicalize(folder)?;
        match fs::read_link(folder.join(name)) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Ok(folder.join(name)),
        }
    }
    Err(io::Error::other("too many links lead to the file"))
}

/// Names a file whatever it is called: device and inode.
#[cfg(unix)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    pub(super) inode: u64,
}

/// Names a file: elsewhere than on Unix by its path.
#[cfg(not(unix))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileId(PathBuf);

/// A file, and how many names it has.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) id: FileId,
    pub(super) names: u64,
}

/// Looks up which file a name leads to. Nothing is opened: see [`inspect::file`](super::inspect::file).
#[cfg(unix)]
pub(super) fn find(path: &Path) -> io::Result<Found> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::symlink_metadata(path)?;
    Ok(Found { id: FileId::of(&metadata), names: metadata.nlink() })
}

#[cfg(not(unix))]
pub(super) fn find(path: &Path) -> io::Result<Found> {
    Ok(Found { id: FileId(fs::canonicalize(path)?), names: 1 })
}

#[cfg(unix)]
impl FileId {
    /// The identity in what the system says of a file.
    pub(super) fn of(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The database that a store has open: its name must lead to this file as long as anything is written.
#[derive(Debug, Clone)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
    pub(super) id: FileId,
}

impl DatabaseFile {
    /// Checks that the name still leads to the file. What is written to another one, or to one without a name, would be
    /// lost to the next start; and one that has two names, another program can open beside this one.
    pub(super) fn must_be_there(&self) -> io::Result<()> {
        let found = find(&self.path)?;
        if found.id != self.id {
            return Err(io::Error::other("its name leads to another file"));
        }
        if found.names != 1 {
            return Err(io::Error::other("it has more than one name"));
        }
        Ok(())
    }
}
