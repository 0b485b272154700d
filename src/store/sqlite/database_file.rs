//! Finds the real path of a database, without links and other spellings, and the file at that path.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf, absolute},
};

/// The links that are followed in a row: as many as Linux follows.
const LINKS: usize = 40;

/// Follows links, even to a file that does not exist yet. Two paths of one file become one path,
/// which SQLite cannot read as a URI.
pub(super) fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = absolute(path)?;
    for _ in 0..LINKS {
        match fs::canonicalize(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        // The file is missing, or is a link to a missing file.
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

/// Identifies a file under any name: device and inode.
#[cfg(unix)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    pub(super) inode: u64,
}

/// Identifies a file by its path, if the system has no inodes.
#[cfg(not(unix))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileId(PathBuf);

/// A file and the number of its names.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) id: FileId,
    pub(super) names: u64,
}

/// Looks up the file at a path without opening it: see [`inspect::file`](super::inspect::file).
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
    /// Identifies the file of this metadata.
    pub(super) fn of(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The file of an open store. The store writes only while its path leads to this file.
#[derive(Debug, Clone)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
    pub(super) id: FileId,
}

impl DatabaseFile {
    /// Checks that the path leads to the file, and that the file has no other name. Writes to a
    /// replaced file would be lost at the next start, and another program could open the second
    /// name.
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
