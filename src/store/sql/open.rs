//! The ways to open a store: to write, to read, or for a while.

use std::path::Path;

use sqlx::migrate::Migrator;

use super::{OpenError, SqliteOptions, SqliteStore, options::Location};

impl SqliteStore {
    /// Starts the options of a database file. While a store has the file open, this process must open it only through
    /// SQLite. On Unix, a process that closes a file loses all its locks on it.
    #[must_use]
    pub fn options(path: impl AsRef<Path>) -> SqliteOptions {
        SqliteOptions::at(Location::File(path.as_ref().to_owned()))
    }

    /// Opens a database to write, with the tables of these toolkits; creates it if it is missing.
    ///
    /// # Errors
    /// [`OpenError`] says in one sentence what to do.
    pub async fn open(
        path: impl AsRef<Path>,
        migrations: impl IntoIterator<Item = &'static Migrator>,
    ) -> Result<Self, OpenError> {
        with_toolkits(Self::options(path), migrations).open().await
    }

    /// Opens a database to read, beside its writer.
    ///
    /// # Errors
    /// [`OpenError`] says in one sentence what to do.
    pub async fn open_read_only(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::options(path).open_read_only().await
    }

    /// Opens a temporary database: a file that only this user can read, never synced, removed when the store is closed
    /// or dropped. SQLite's databases in memory allow no reader beside a writer.
    ///
    /// # Errors
    /// [`OpenError`] if no temporary folder can be created.
    pub async fn in_memory(
        migrations: impl IntoIterator<Item = &'static Migrator>,
    ) -> Result<Self, OpenError> {
        with_toolkits(SqliteOptions::at(Location::Memory), migrations).open().await
    }
}

fn with_toolkits(
    options: SqliteOptions,
    migrations: impl IntoIterator<Item = &'static Migrator>,
) -> SqliteOptions {
    migrations
        .into_iter()
        .fold(options, |options, migrator| options.migrations("a toolkit", migrator))
}
