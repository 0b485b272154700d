//! The ways to open a store: to write, to read, or for a while.

use std::path::Path;

use super::{OpenError, SqliteOptions, SqliteStore, options::Location};

impl SqliteStore {
    /// Returns options that, when awaited, open a database file to write, and create it if it is
    /// missing. While a store has the file open, this process must open it only through SQLite. On
    /// Unix, a process that closes a file loses all its locks on it.
    pub fn open(path: impl AsRef<Path>) -> SqliteOptions {
        SqliteOptions::at(Location::File(path.as_ref().to_owned()))
    }

    /// Opens a database to read, while another store may write it.
    ///
    /// # Errors
    /// [`OpenError`] says in one sentence what to do.
    pub async fn open_read_only(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open(path).open_read_only().await
    }

    /// Returns options that, when awaited, open a temporary database: a file that only this user
    /// can read, that is never synced, and that is removed when the store is closed or dropped. It
    /// is not an SQLite `:memory:` database, because those allow no reader while another connection
    /// writes.
    pub const fn in_memory() -> SqliteOptions {
        SqliteOptions::at(Location::Memory)
    }
}
