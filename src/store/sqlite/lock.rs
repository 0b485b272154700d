//! Locks a database for one writing program, until the store closes or the process ends.
//!
//! Two lock files are in the folder of the database. The one named after the path guards the log
//! and the index, which SQLite finds by that path. The one named after the inode follows the file
//! through a rename. The database itself is never locked here, because a Unix process that closes a
//! file loses all its locks on it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::{
    OpenError,
    database_file::{self, DatabaseFile},
    private,
};
use crate::store::files::beside;

/// The right to write a database; dropping it frees the database.
#[derive(Debug)]
pub(super) struct Lock {
    file: DatabaseFile,
    #[cfg(unix)]
    _of_file: LockFile,
    of_name: LockFile,
}

impl Lock {
    /// Takes both locks, or says at once that another store has one. Creates the file if it is
    /// missing, because only an existing file has an identity. The path must be
    /// [resolved](database_file::resolved).
    pub(super) fn take(database: &Path) -> Result<Self, OpenError> {
        let of_name = LockFile::take(database, beside(database, ".lock"), Afterwards::Stays)?;
        match Self::of_file(database) {
            #[cfg(unix)]
            Ok((file, of_file)) => Ok(Self { file, _of_file: of_file, of_name }),
            #[cfg(not(unix))]
            Ok(file) => Ok(Self { file, of_name }),
            Err(error) => {
                of_name.leave_no_trace();
                Err(error)
            }
        }
    }

    #[cfg(unix)]
    fn of_file(database: &Path) -> Result<(DatabaseFile, LockFile), OpenError> {
        let file = made(database)?;
        let path = database.with_file_name(format!(".madang-{:x}.lock", file.id.inode));
        let lock = LockFile::take(database, path, Afterwards::Goes)?;
        Ok((file, lock))
    }

    #[cfg(not(unix))]
    fn of_file(database: &Path) -> Result<DatabaseFile, OpenError> {
        made(database)
    }

    /// Returns the locked file.
    pub(super) const fn file(&self) -> &DatabaseFile {
        &self.file
    }

    /// Removes the lock files of a database that proved to be another program's.
    pub(super) fn leave_no_trace(self) {
        self.of_name.leave_no_trace();
    }
}

/// Finds the file, or creates it.
fn made(database: &Path) -> Result<DatabaseFile, OpenError> {
    let unusable = |cause| OpenError::of_io(database, cause);
    private::create(database).map_err(unusable)?;
    let found = database_file::find(database).map_err(unusable)?;
    // SQLite keeps a log for each name, so a file with two names would have two logs.
    if found.names > 1 {
        return Err(OpenError::SeveralNames { path: database.to_owned() });
    }
    Ok(DatabaseFile { path: database.to_owned(), id: found.id })
}

/// The fate of a lock file after its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Afterwards {
    /// It stays for the next program.
    Stays,
    /// It is removed: the next database file has another inode.
    #[cfg(unix)]
    Goes,
}

/// An open lock file.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    file: File,
    was_there: bool,
    afterwards: Afterwards,
}

/// Attempts to lock, since other stores may remove the file between opening and locking.
const TRIES: usize = 8;

impl LockFile {
    fn take(database: &Path, path: PathBuf, afterwards: Afterwards) -> Result<Self, OpenError> {
        let was_there = path.exists();
        for _ in 0..TRIES {
            let file = private::open_lock(&path, database)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(cause)) => return Err(OpenError::of_io(database, cause)),
            }
            // The store that had it may have removed it, and another store may lock a new file of
            // the same name.
            if is_named(&file, &path).map_err(|cause| OpenError::of_io(database, cause))? {
                return Ok(Self { path, file, was_there, afterwards });
            }
        }
        Err(OpenError::Held { path: database.to_owned() })
    }

    fn leave_no_trace(mut self) {
        if !self.was_there {
            self.remove();
        }
        self.afterwards = Afterwards::Stays;
    }

    /// Removes the file while it is locked, so that no store removes another's.
    fn remove(&self) {
        let is_ours = is_named(&self.file, &self.path).unwrap_or(false);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "a lock file stays behind");
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        match self.afterwards {
            Afterwards::Stays => {}
            #[cfg(unix)]
            Afterwards::Goes => self.remove(),
        }
        // Unlocks before closing: a child process that was started in between has a copy of the
        // descriptor until it runs another program.
        if let Err(error) = self.file.unlock() {
            tracing::debug!(%error, "a lock goes with its file");
        }
    }
}

#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let held = database_file::FileId::of(&file.metadata()?);
    match database_file::find(path) {
        Ok(found) => Ok(found.id == held),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Replaces the other if files have no identity. A list of mutants distinguishes the two by its own
/// name.
#[cfg(not(unix))]
fn is_taken_for_named(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(not(unix))]
use is_taken_for_named as is_named;

#[cfg(all(test, unix))]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering::SeqCst},
        thread,
    };

    use super::*;

    #[test]
    fn a_file_is_named_by_its_own_name_and_by_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let (path, another) = (folder.path().join("a"), folder.path().join("b"));
        let file = File::create(&path).unwrap();
        File::create(&another).unwrap();
        assert!(is_named(&file, &path).unwrap());
        assert!(!is_named(&file, &another).unwrap());
        assert!(!is_named(&file, &folder.path().join("none")).unwrap());
        is_named(&file, &path.join("below")).expect_err("nothing lies below a file");
    }

    #[test]
    fn what_is_given_back_is_free_though_a_child_has_a_copy_of_its_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("a.db");
        let lock = Lock::take(&database).unwrap();
        let copies = [&lock.of_name, &lock._of_file].map(|lock| lock.file.try_clone().unwrap());
        drop(lock);
        let again = Lock::take(&database).expect("others may take it");
        drop(copies);
        assert!(matches!(Lock::take(&database), Err(OpenError::Held { .. })), "{again:?}");
    }

    /// Stores remove the file while others have it open; a lock on a removed file locks nothing.
    #[test]
    fn of_many_who_take_and_give_back_a_lock_one_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("a.db");
        let path = folder.path().join(".a.lock");
        private::create(&database).unwrap();
        let holders = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut taken = 0;
                    while taken < 500 {
                        let take = LockFile::take(&database, path.clone(), Afterwards::Goes);
                        match take {
                            Ok(lock) => {
                                assert_eq!(holders.fetch_add(1, SeqCst), 0, "another has it too");
                                taken += 1;
                                thread::yield_now();
                                holders.fetch_sub(1, SeqCst);
                                drop(lock);
                            }
                            Err(OpenError::Held { .. }) => thread::yield_now(),
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                });
            }
        });
    }
}
