//! The lock beside the database: one writing process at a time, held for life, released by the system even after a kill.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
};

use super::OpenError;

/// The right to write this database. Dropped, others may take it.
#[derive(Debug)]
pub(super) struct Lock {
    /// The file stays when the lock goes: removing it would let two others lock two different files of one name.
    _file: File,
    was_there: WasThere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WasThere {
    Yes,
    No,
}

impl Lock {
    /// Takes the lock of a database, or says at once that somebody else has it.
    pub(super) fn take(database: &Path) -> Result<Self, OpenError> {
        let path = lock_path(database);
        let was_there = if path.exists() { WasThere::Yes } else { WasThere::No };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(|cause| OpenError::of_io(database, cause))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file, was_there }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Held { path: database.to_owned() }),
            Err(TryLockError::Error(cause)) => Err(OpenError::of_io(database, cause)),
        }
    }

    /// Removes a lock file that was made for a database that turned out to be somebody else's.
    pub(super) fn leave_no_trace(self, database: &Path) {
        if self.was_there == WasThere::No
            && let Err(error) = fs::remove_file(lock_path(database))
        {
            tracing::debug!(%error, "a lock file stays behind");
        }
    }
}

fn lock_path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}
